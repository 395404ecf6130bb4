package numbers

const late = 5

// overdue compares with a type that this file does not import.
func overdue(t timer) bool { return t.d > late }
