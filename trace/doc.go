// Package trace holds spans: the columnar Store, the identifiers and times they
// are made of, the Tables of strings and resources that they share, and the
// names of the endpoints they belong to.
//
// Read Store, RawSpan and Endpoint first. A Store takes what a decoder hands
// it: it drops attributes that nothing reads but judges nothing. What is wrong
// with spans is found by package graph and told as a Defect.
package trace
