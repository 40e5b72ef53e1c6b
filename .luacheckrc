-- luacheck is the second opinion on the rules; msgx rules lint is the first. "make lint" runs both.

std = {
  read_globals = {
    "CLEAR", "assert", "error", "ipairs", "next", "pairs", "require", "tonumber", "tostring", "type",
    string = { fields = { "byte", "find", "len", "lower", "sub", "upper" } },
    table  = { fields = { "concat", "insert", "remove", "sort" } },
    math   = { fields = { "abs", "ceil", "floor", "max", "min" } },
  },
}

max_line_length = 140
