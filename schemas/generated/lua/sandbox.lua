---@meta sandbox
-- Generated from the catalogue by "go generate ./schemas"; do not edit.

---Raises an error with the text when v is false or nil: the message fails, and is tried again.
---@generic T
---@param v? T
---@param text? string
---@return T
function assert(v, text) end

---Fails the message: it is tried again. To refuse it for good, return { reject = … }.
---@param text string
---@return never
function error(text) end

---Walks a list from 1 to the first nil: for i, value in ipairs(t) do.
---@generic V
---@param t V[]
---@return fun(tbl: any): integer, V
function ipairs(t) end

---Walks a table: positions first, then names in alphabetical order.
---@generic K, V
---@param t table<K, V>
---@return fun(tbl: any): K, V
function pairs(t) end

---For next(t) == nil, which tells an empty table. To walk one use pairs.
---@generic K, V
---@param t table<K, V>
---@param k? K
---@return K?
---@return V?
function next(t, k) end

---A library of rules/lib, or "flight". The name is written out.
---@param name string
---@return any
function require(name) end

---The number that decimal digits say, nil when they say none; an error when it would not be exact.
---@param v any
---@return number?
function tonumber(v) end

---The text of a text, number, boolean or nil; an error for anything else.
---@param v any
---@return string
function tostring(v) end

---What a value is; "clear" for CLEAR.
---@param v any
---@return "nil"|"boolean"|"number"|"string"|"table"|"function"|"clear"
function type(v) end

---Texts; also as methods: s:upper(). There are no patterns.
---@class stringlib
string = {}

---One byte as a number, nil outside of the text.
---@param s string
---@param i? integer
---@return integer?
function string.byte(s, i) end

---Where a text stands in s, as it is written: there are no patterns.
---@param s string
---@param text string
---@param from? integer
---@return integer? first
---@return integer? last
function string.find(s, text, from) end

---@param s string
---@return integer
function string.len(s) end

---@param s string
---@return string
function string.lower(s) end

---The bytes from i to j; negative ones count from the end.
---@param s string
---@param i integer
---@param j? integer
---@return string
function string.sub(s, i, j) end

---@param s string
---@return string
function string.upper(s) end

table = {}

---@param t (string|number)[]
---@param separator? string
---@return string
function table.concat(t, separator) end

---Appends a value, or puts it in at a position.
---@overload fun(t: any[], value: any)
---@param t any[]
---@param position integer
---@param value any
function table.insert(t, position, value) end

---@generic V
---@param t V[]
---@param position? integer
---@return V?
function table.remove(t, position) end

---Sorts a list; equal entries keep their order.
---@generic V
---@param t V[]
---@param before? fun(a: V, b: V): boolean a < b, not a <= b
function table.sort(t, before) end

math = {}

---@param x number
---@return number
function math.abs(x) end

---@param x number
---@return integer
function math.ceil(x) end

---@param x number
---@return integer
function math.floor(x) end

---@param x number
---@param ... number
---@return number
function math.max(x, ...) end

---@param x number
---@param ... number
---@return number
function math.min(x, ...) end
