// Package sim proves the run by seeded simulation: the real run, ledger and git store logic on a remote in memory and
// networks without sockets, in a synctest bubble, while everything goes wrong that can.
//
// A seed makes a plan: destinations, runners with clocks of their own, and steps. A step is one thing that happens: a run
// that is killed or frozen somewhere, a fault of a network or of the remote, a person's edit or decision, an attack. After
// the last step all faults end, and runs go on until nothing more can change. Then the fake network's own records, and
// everything that was ever pushed to the ledger, are held against the promises of docs/reliability.md.
//
// The package holds tests only. How to run and to repeat them is in docs/reliability.md.
package sim
