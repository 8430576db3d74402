package boundary

import "context"

// Judge is stages 1 to 9 without a store, for tests that go through many worlds.
func Judge[P, W any](k *Kind[P, W], p *Payload[P], w W) (*Refusal, error) {
	vs, err := k.judge(context.Background(), p, w)
	if vs = append(append([]Violation{}, p.form...), vs...); err != nil || len(vs) == 0 {
		return nil, err
	}
	return k.refuse(p.source, vs), nil
}
