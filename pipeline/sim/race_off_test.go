//go:build !race

package sim

// fewSeeds is how many seeds a plain run of the tests lives through.
const fewSeeds = 300
