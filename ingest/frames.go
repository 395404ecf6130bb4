package ingest

import (
	"bufio"

	"github.com/tailscope/tailscope/trace"
)

type frameCutter struct {
	r      *bufio.Reader
	limits *Limits
	zstd   bool
}

func (f *frameCutter) next() *chunk {
	return &chunk{errors: []sourceError{{kind: trace.BadSyntax, message: "not yet"}}}
}

type protoCutter struct {
	r      *bufio.Reader
	limits *Limits
}

func (f *protoCutter) next() *chunk {
	return &chunk{errors: []sourceError{{kind: trace.BadSyntax, message: "not yet"}}}
}

type protoDecoder struct{}

func decodeProto(k *sink, d *protoDecoder, c *chunk, careful bool, trial func() *sink) bool {
	return true
}
