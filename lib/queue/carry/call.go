package carry

import "context"

func (c *Carrier) call(ctx context.Context, e *effect) ([]byte, error) { return nil, ErrOther }
