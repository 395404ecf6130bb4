package report

import _ "embed"

// ReportSchema is the JSON Schema (draft 2020-12) of tailscope.report/v1.
//
//go:embed schema/report.v1.json
var ReportSchema []byte

// TraceSchema is the JSON Schema (draft 2020-12) of tailscope.trace/v1.
//
//go:embed schema/trace.v1.json
var TraceSchema []byte

// InspectionSchema is the JSON Schema (draft 2020-12) of tailscope.inspection/v1.
//
//go:embed schema/inspection.v1.json
var InspectionSchema []byte

// TimeoutsSchema is the JSON Schema (draft 2020-12) of tailscope.timeouts/v1.
//
//go:embed schema/timeouts.v1.json
var TimeoutsSchema []byte

// WhatIfSchema is the JSON Schema (draft 2020-12) of tailscope.whatif/v1.
//
//go:embed schema/whatif.v1.json
var WhatIfSchema []byte
