package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// replaceFile puts a text in the place of what was read before. Whoever has saved the file meanwhile loses
// nothing: then nothing is written. The file has at every moment either text whole, and keeps its mode; a
// link goes on leading to it.
func replaceFile(file string, was, text []byte) (err error) {
	full, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	old, err := os.OpenFile(full, os.O_RDWR, 0) // what may not be written is not replaced either
	if err != nil {
		return err
	}
	info, err := old.Stat()
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(full), "."+filepath.Base(full)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(beside.Name()))
		}
	}()
	_, err = beside.Write(text)
	if err = errors.Join(err, beside.Chmod(info.Mode().Perm()), beside.Sync(), beside.Close()); err != nil {
		return err
	}
	now, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) {
		return fmt.Errorf("%s has changed since it was read; nothing is written; look at it again", file)
	}
	return os.Rename(beside.Name(), full)
}
