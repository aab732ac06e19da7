package main

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// endpoint is one address to listen on, and the flag that names it, for messages.
type endpoint struct {
	flag string
	addr netip.AddrPort
}

// parseEndpoint reads host:port. The host is resolved here, because the server binds to an IP address only.
func parseEndpoint(flag, value string) (endpoint, error) {
	host, portText, err := net.SplitHostPort(value)
	if err != nil {
		return endpoint{}, fmt.Errorf("%s %q is not an address: %w; write host:port", flag, value, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return endpoint{}, fmt.Errorf("%s %q: port %q is not a number from 0 to 65535; write host:port", flag, value, portText)
	}
	if host == "" {
		// Go would listen on every interface, which nobody should get by leaving something out.
		return endpoint{}, fmt.Errorf("%s %q names no host; write 127.0.0.1:%d, or 0.0.0.0:%[3]d to be reached from other machines",
			flag, value, port)
	}
	resolved, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return endpoint{}, fmt.Errorf("%s %q: host %q can't be resolved: %w; write an IP address of this machine", flag, value, host, err)
	}
	ip, _ := netip.AddrFromSlice(resolved.IP)
	return endpoint{flag: flag, addr: netip.AddrPortFrom(ip.Unmap().WithZone(resolved.Zone), uint16(port))}, nil
}

// claim returns the endpoint with its real port, or an error when it can't be listened on. The server and the Web UI
// would exit with a message of their own that names no flag.
func (e endpoint) claim() (endpoint, error) {
	addr, err := e.addr, error(nil)
	if addr.Port() == 0 {
		addr, err = reservePort(addr.Addr())
	} else {
		err = probePort(addr)
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("cannot listen on %s %s: %w; stop the program that has the port, or give another (port 0 picks a free one)",
			e.flag, e.addr, err)
	}
	return endpoint{flag: e.flag, addr: addr}, nil
}

// dialable is the address for a client on this machine: an endpoint on every interface is reached by loopback.
func (e endpoint) dialable() string {
	return dialable(e.addr).String()
}

func dialable(addr netip.AddrPort) netip.AddrPort {
	switch addr.Addr() {
	case netip.IPv4Unspecified():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), addr.Port())
	case netip.IPv6Unspecified():
		return netip.AddrPortFrom(netip.IPv6Loopback(), addr.Port())
	}
	return addr
}

func probePort(addr netip.AddrPort) error {
	listener, err := net.Listen("tcp", addr.String())
	if err != nil {
		return err
	}
	return listener.Close()
}

// reservePort finds a free port that stays free until it is listened on. A port that was only seen free may be gone a
// moment later, when several servers start at once. So one connection is made on it and closed by the accepting side: for
// a minute the kernel then remembers the port (TIME_WAIT) and gives it to nobody who asks for any port, but does give it to
// the one who asks for it by number.
func reservePort(ip netip.Addr) (netip.AddrPort, error) {
	listener, err := net.Listen("tcp", netip.AddrPortFrom(ip, 0).String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer listener.Close()
	addr := netip.AddrPortFrom(ip, uint16(listener.Addr().(*net.TCPAddr).Port))

	dialed, err := net.Dial("tcp", dialable(addr).String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	defer dialed.Close() // After the accepted side, which is what leaves the memory on the listener's port.
	accepted, err := listener.Accept()
	if err != nil {
		return netip.AddrPort{}, err
	}
	return addr, accepted.Close()
}
