package software

import (
	"context"
	"errors"
)

func (f Finder) ensureKafka(context.Context) (Home, error) {
	return Home{}, errors.New("kafka: not yet")
}
