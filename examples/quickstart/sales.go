package quickstart

import "fmt"

// A Sale is one row of what the workflows are given.
type Sale struct {
	Region  string
	Product string
	Amount  int
}

// Sales is some input.
var Sales = []Sale{
	{"north", "tea", 310},
	{"north", "coffee", 120},
	{"south", "coffee", 290},
	{"south", "coffee", 95},
	{"east", "tea", 45},
}

// SalesAnswer is the right answer for Sales.
var SalesAnswer = Answer{Region: "north", Total: 430, Product: "tea"}

// An Answer says which region sold most, for how much, and what sold best there.
type Answer struct {
	Region  string
	Total   int
	Product string
}

func (a Answer) String() string {
	return fmt.Sprintf("%s sold most, for %d in all, and most of it was %s", a.Region, a.Total, a.Product)
}
