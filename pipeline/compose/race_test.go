//go:build race

package compose_test

// raceDetector tells that times are no measure.
const raceDetector = true
