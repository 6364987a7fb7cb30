//! Tests from outside: the binary as its users meet it, and the rules of the house.

mod bursar;
mod commands;
mod conformance;
mod tidy;
