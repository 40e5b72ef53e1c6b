package main

import (
	"fmt"
	"slices"
	"time"
)

// result is one round: how long each contestant took for the messages.
type result struct {
	messages    int
	ours, floor time.Duration
	whole       time.Duration // until the last terminal state, every stage running
	done        time.Duration // until all is delivered and marked
}

func (r result) rate(d time.Duration) float64 { return float64(r.messages) / d.Seconds() }

func (r result) ratio() float64      { return r.floor.Seconds() / r.ours.Seconds() }
func (r result) wholeRatio() float64 { return r.floor.Seconds() / r.whole.Seconds() }

func (r result) String() string {
	return line(r.rate(r.ours), r.rate(r.floor), r.ratio(), r.rate(r.whole), r.wholeRatio(), r.rate(r.done))
}

func line(ours, floor, ratio, whole, wholeRatio, done float64) string {
	return fmt.Sprintf("%8.0f/s %8.0f/s    %.2f   %8.0f/s    %.2f               %8.0f/s", ours, floor, ratio, whole, wholeRatio, done)
}

type results []result

// print shows medians and spread and returns the median ratio. Ratios are taken
// round by round, as the contestants of one round have met the same neighbours.
func (rs results) print() float64 {
	show := func(name string, at func([]float64) float64) float64 {
		of := func(value func(result) float64) float64 {
			var values []float64
			for _, r := range rs {
				values = append(values, value(r))
			}
			slices.Sort(values)
			return at(values)
		}
		ratio := of(result.ratio)
		fmt.Printf("%-9s %s\n", name, line(
			of(func(r result) float64 { return r.rate(r.ours) }), of(func(r result) float64 { return r.rate(r.floor) }), ratio,
			of(func(r result) float64 { return r.rate(r.whole) }), of(result.wholeRatio), of(func(r result) float64 { return r.rate(r.done) })))
		return ratio
	}
	ratio := show("median", median)
	show("lowest", func(sorted []float64) float64 { return sorted[0] })
	show("highest", func(sorted []float64) float64 { return sorted[len(sorted)-1] })
	fmt.Println()
	return ratio
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
