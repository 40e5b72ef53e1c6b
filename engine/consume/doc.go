// Package consume reads what msgx tells Kafka as a consumer has to: deliveries come at least once, and a repeat can come
// after newer versions. It is pure; whoever reads the topics hands it their records. schemas/EVENTS.md is the contract.
//
// A Feed tells of each record of KAFKA:msg whether it is new, a repeat, or late. A Latest keeps the latest
// state of each flight from the records of KAFKA:schd. Both remember a version for each flight, deleted ones too, so that no late
// repeat brings back what is gone; who follows a topic for months starts anew from time to time.
package consume
