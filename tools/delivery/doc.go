// Package delivery has tests only: committed events go through a real PostgreSQL and the real dispatcher to a real
// Apache Kafka, which has one trouble after the other meanwhile. What arrived is then held to what was committed. The
// README has the table of what was seen.
package delivery
