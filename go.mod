module github.com/tailscope/tailscope

go 1.26.0

require (
	github.com/klauspost/compress v1.20.4 // indirect
	go.opentelemetry.io/collector/pdata v1.71.0 // indirect
)
