package reporttest

import "reflect"

// Poison sets every string of a report or a trace to s, names of kinds and sets too, except those that keep holds:
// what draws it must stand anything anywhere. v is a pointer.
func Poison(v any, s string, keep ...string) {
	kept := map[string]bool{}
	for _, k := range keep {
		kept[k] = true
	}
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if v.CanSet() && !kept[v.String()] {
				v.SetString(s)
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				if v.Type().Elem().Kind() == reflect.String {
					v.SetMapIndex(k, reflect.ValueOf(s))
				}
			}
			if v.Len() > 0 {
				v.SetMapIndex(reflect.ValueOf(s), reflect.Zero(v.Type().Elem()))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		}
	}
	walk(reflect.ValueOf(v))
}
