package server

import (
	"context"
	"errors"
	"syscall"
)

type kafka struct{}

func (kafka) initialise(context.Context, place) error { return errors.New("kafka: not yet") }
func (kafka) command(place) ([]string, error)         { return nil, errors.New("kafka: not yet") }
func (kafka) ping(context.Context, string) error      { return errors.New("kafka: not yet") }
func (kafka) url(address string) string               { return address }
func (kafka) stopSignal() syscall.Signal              { return syscall.SIGTERM }
