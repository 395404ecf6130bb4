package trace

import "testing"

// Where nothing else names a process its address does, but for one that every machine has.
func TestAnAddressNamesAnInstance(t *testing.T) {
	attrs := func(kv ...string) (raw []RawAttr) {
		for i := 0; i < len(kv); i += 2 {
			raw = append(raw, RawAttr{Key: []byte(kv[i]), Value: RawValue{Type: String, Bytes: []byte(kv[i+1])}})
		}
		return raw
	}
	for _, x := range []struct {
		attrs          []RawAttr
		host, instance string
	}{
		{attrs("service.name", "rails", "host.ip", "10.0.3.7"), "rails@10.0.3.7", "10.0.3.7"},
		{attrs("service.name", "rails", "host.ip", "fd00::7"), "rails@fd00::7", "fd00::7"},
		{attrs("service.name", "rails", "host.ip", "127.0.0.1"), "rails", ""},
		{attrs("service.name", "rails", "host.ip", "0.0.0.0"), "rails", ""},
		{attrs("service.name", "rails", "host.ip", "[10.0.3.7]"), "rails", ""},
		{attrs("service.name", "rails", "host.ip", "10.0.3.7", "host.name", "a"), "a", "a"},
		{attrs("service.name", "rails", "host.ip", "10.0.3.7", "service.instance.id", "3"), "3", "3"},
	} {
		tab := NewTables()
		r := tab.Resource(tab.AddResource(x.attrs))
		if host, instance := tab.String(r.Host), tab.String(r.Instance); host != x.host || instance != x.instance {
			t.Errorf("host %q, instance %q; want %q, %q", host, instance, x.host, x.instance)
		}
	}
}
