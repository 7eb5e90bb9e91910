// Package e2e drives the built binary through a real git remote over HTTP, against the sandbox network, and, with the
// build tag realservers, against real servers. It holds tests only.
//
// The binary is built once for each test process with the tag fencescale, so that leases end within seconds. Every world
// has one address in front of both its git server and its network, where a test can hold, lose and count requests; when a
// test ends, no secret may stand in anything that a process printed or that the repository holds.
//
// BROADSIDE_E2E_ROUNDS is how many random kills are tried (default 10), BROADSIDE_E2E_SEED where they begin.
package e2e
