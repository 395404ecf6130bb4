// Package queuewait says how long calls waited before they were served, and in
// whose queue.
//
// A Fold is what requests together tell of the time between a client span and
// its server span; Floors is what of it is the network's by the fastest calls.
// What a call's gap holds beyond its floor waited somewhere.
package queuewait
