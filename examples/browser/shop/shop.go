// Package shop is a web site to drive a browser through: a shop that takes an
// order over three pages and keeps what it was told in a session of its own, by a
// cookie. Nothing of it knows of MCP.
package shop

import (
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A Shop is the site. The zero value has no orders yet.
type Shop struct {
	// BeforeOrder, if set, is called when an order comes in, before anything is
	// done about it.
	BeforeOrder func()

	mu     sync.Mutex
	carts  map[string]cart   // by the cookie's value
	orders map[string]string // what was said to an order, by its number
}

type cart struct {
	Number string
	Name   string
	Cups   int
}

const cookieName = "cart"

// Serve serves the shop on loopback until ctx ends, and returns its URL.
func (s *Shop) Serve(ctx context.Context) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// Handler returns the pages.
func (s *Shop) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.form)
	mux.HandleFunc("POST /cart", s.fillCart)
	mux.HandleFunc("GET /cart", s.showCart)
	mux.HandleFunc("POST /order", s.order)
	mux.HandleFunc("GET /wallpaper", wallpaper)
	return mux
}

// Orders is how many orders the shop has taken.
func (s *Shop) Orders() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.orders)
}

var pages = template.Must(template.New("").Parse(`
{{define "top"}}<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>Tea shop</title><h1>Tea shop</h1>{{end}}

{{define "form"}}{{template "top"}}
<form method="post" action="/cart">
<input type="hidden" name="number" value="{{.}}">
<p><label>Your name <input name="name"></label>
<p><label>Cups <input name="cups" type="number"></label>
<p><button>Next</button>
</form>{{end}}

{{define "cart"}}{{template "top"}}
<p>{{.Cups}} cups of tea for {{.Name}}
<form method="post" action="/order"><button>Order</button></form>{{end}}

{{define "said"}}{{template "top"}}<output>{{.}}</output>{{end}}
`))

func show(w http.ResponseWriter, page string, content any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, page, content) // an error is of the connection
}

// form is the first page.
func (s *Shop) form(w http.ResponseWriter, r *http.Request) {
	show(w, "form", r.URL.Query().Get("number"))
}

func (s *Shop) fillCart(w http.ResponseWriter, r *http.Request) {
	cups, err := strconv.Atoi(r.FormValue("cups"))
	if err != nil || cups < 1 || r.FormValue("name") == "" {
		show(w, "said", "Please fill in the form.")
		return
	}
	key := rand.Text()
	s.mu.Lock()
	if s.carts == nil {
		s.carts = make(map[string]cart)
	}
	s.carts[key] = cart{Number: r.FormValue("number"), Name: r.FormValue("name"), Cups: cups}
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: key, Path: "/", HttpOnly: true})
	http.Redirect(w, r, "/cart", http.StatusSeeOther)
}

// showCart is the second page.
func (s *Shop) showCart(w http.ResponseWriter, r *http.Request) {
	if filled, ok := s.cartOf(r); ok {
		show(w, "cart", filled)
		return
	}
	show(w, "said", "Your cart is empty.")
}

// order is the third page. An order that comes again is the same order.
func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	if s.BeforeOrder != nil {
		s.BeforeOrder()
	}
	filled, ok := s.cartOf(r)
	if !ok {
		show(w, "said", "Your cart is empty.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said, ok := s.orders[filled.Number]
	if !ok {
		if s.orders == nil {
			s.orders = make(map[string]string)
		}
		said = fmt.Sprintf("Thank you, %s. %d cups of tea are on their way.", filled.Name, filled.Cups)
		s.orders[filled.Number] = said
	}
	show(w, "said", said)
}

func (s *Shop) cartOf(r *http.Request) (cart, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return cart{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	filled, ok := s.carts[cookie.Value]
	return filled, ok
}
