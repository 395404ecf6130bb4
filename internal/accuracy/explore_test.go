package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/samples/gen/scenario"
)

func TestExplore(t *testing.T) {
	pat := os.Getenv("SCEN")
	if pat == "" {
		t.Skip("SCEN names no scenario")
	}
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		n = 2500
	}
	seeds := 1
	if s := os.Getenv("SEEDS"); s != "" {
		seeds, _ = strconv.Atoi(s)
	}
	right, all := 0, 0
	for _, s := range scenario.List() {
		ok := false
		for _, p := range strings.Split(pat, ",") {
			if strings.Contains(s.Name, p) {
				ok = true
			}
		}
		if !ok {
			continue
		}
		for seed := 1; seed <= seeds; seed++ {
			a, err := analyze(s.Name, uint64(seed), n, os.Getenv("NOMETRICS") == "")
			if err != nil {
				fmt.Println(s.Name, err)
				continue
			}
			all++
			v := string(a.endpoint.Verdict) == string(a.truth.Verdict)
			p := a.place()
			if v && (p == 1 || len(a.truth.Causes) == 0) {
				right++
				if os.Getenv("ALL") == "" {
					fmt.Printf("ok %s seed %d\n", s.Name, seed)
					continue
				}
			}
			fmt.Printf("-- rank %d %s\n", p, a)
		}
	}
	fmt.Println("right", right, "of", all)
}
