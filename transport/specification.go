package transport

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"slices"
)

// A Specified transport can tell whether another would start the same server. Of
// the transports of this package those of [Command] and [CommandWithOptions] are.
// Sessions of such servers can be started before they are wanted: see
// session.Server.Warm. A transport that wraps one and starts nothing else may embed
// this interface; one that does not has no specification.
type Specified interface {
	Watched

	// Specification is what the server would be started with. It may be asked at any
	// time before Connect, and starts nothing.
	Specification() Specification
}

// A Specification is all that decides what a server process is: two transports with
// equal ones are interchangeable. It can be compared with ==, within one process
// alone, and tells nothing of what it was made of: that holds secrets.
type Specification struct{ digest [sha256.Size]byte }

// String returns a text that is the same for all.
func (Specification) String() string { return "[specification]" }

// GoString returns what String does.
func (s Specification) GoString() string { return s.String() }

// specificationKey makes the digests of this process useless to anybody else, who
// could find a short secret by trying.
var specificationKey = []byte(rand.Text())

// Specification implements [Specified]. What counts is the name, the executable with
// its size and the time of its last change, so that a program that was replaced is
// another, the arguments, the whole environment and what of it is secret, the
// directory, and the options with their logger.
func (c *command) Specification() Specification {
	d := newDigest()
	d.add(c.name, c.executable)
	if file, err := os.Stat(c.executable); err == nil {
		d.add(fmt.Sprint(file.Size(), file.ModTime().UnixNano()))
	}
	d.addList(c.args)
	d.addList(c.env.entries())
	d.addList(slices.Sorted(slices.Values(c.env.secrets)))
	directory := c.options.Dir
	if here, err := os.Getwd(); err == nil {
		directory += "\x00" + here // it may be relative
	}
	o := c.options
	d.add(directory, fmt.Sprint(o.StderrTail, o.CloseTimeout, o.KillTimeout, o.MaxMessage, c.supervised))
	d.add(fmt.Sprintf("%p", o.Logger)) // who keeps a transport keeps its logger
	return d.sum()
}

// A digest is one of a list of texts, of which none can be taken for two.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{hmac.New(sha256.New, specificationKey)} }

func (d digest) add(texts ...string) {
	for _, text := range texts {
		d.length(len(text))
		_, _ = d.Write([]byte(text)) // a hash never fails
	}
}

func (d digest) addList(texts []string) {
	d.length(len(texts))
	d.add(texts...)
}

func (d digest) length(n int) { _, _ = d.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }

func (d digest) sum() (s Specification) {
	d.Sum(s.digest[:0])
	return s
}

var _ Specified = (*command)(nil)
