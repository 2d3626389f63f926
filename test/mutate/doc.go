// Mutate changes the code in one place at a time and runs the tests that reach the place: a change
// that no test notices (a survivor) is a rule that nobody holds. It prints a JSON line for each
// survivor and one for the whole.
//
//	go run ./test/mutate [-n N] [-seed S] [-at FILE[:LINE]] [-profiles DIR] [-slowest D] [-budget D]
//		[-time D] [-j N] [-own] [PACKAGE ...]
//
// Mutate changes Go and the P4 program. Mutate does not change the C of host/libmrc: TestApp there
// has a scenario for rules that programs seldom meet.
//
// Without packages it takes those of [targets]. -n draws that many changes from all, by a seed that
// is printed; without it each is tried. The files stay as they are: the go command reads a changed
// one in place of the committed one (its flag -overlay). Mutate builds all drawn changes into one
// program and tells each test process which change to activate: see [schema]. A test notices a
// change if the test fails with the change and passes without the change.
//
// The changed package's tests try a change first, then tests in further packages within -budget,
// the fastest first; one that takes longer than -slowest tries none. A change of the P4 program is
// tried by all tests of the packages that are for it, whatever the budget: those that see most are
// the slow ones. How long tests take is measured, so start it on a machine at rest. -j tries
// several changes at once, on a machine with the processors for it.
//
// The user's cache directory (-profiles) keeps which lines each test reaches, and the outcome of
// each change, by the content of the code under these tests. So a large sample may be tried in
// slices: the same command with -time D stops after that time, and goes on where it was when it is
// called again; after a change of the code only what depends on it is tried anew, by the test that
// noticed it before first. A file that a test reads from another folder than its own does not
// count: empty the directory where such a one has changed.
//
// survivors.tsv has the survivors that somebody has looked at, each with a verdict. One with the
// verdict "equivalent" changes nothing that can be observed, and is not tried; the reason stands
// beside it.
package main
