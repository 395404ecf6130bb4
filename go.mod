module github.com/tailscope/tailscope

go 1.26
