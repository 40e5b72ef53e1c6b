-- Which version of which script handles each kind of message.
--
-- "flop-gtdt@1" is the file rules/flop-gtdt@1.lua. To change a rule, copy its file to the
-- next version, change the copy, and name it here; see rules/README.md.

---@type msgx.Handlers
return {
  -- schedules
  ["SCHD-DNLD"] = "schd@1",
  ["SCHD-RESP"] = "schd@1",
  ["SCHD-ADFT"] = "schd-adft@1",

  -- deletion
  ["FDEL"] = "fdel@1",

  -- operations: what a flight is, and where it stands
  ["FLOP-ACFT"] = "flop-acft@1",
  ["FLOP-FLIN"] = "flop-flin@1",
  ["FLOP-FLTY"] = "flop-flty@1",
  ["FLOP-FTSS"] = "flop-ftss@1",
  ["FLOP-MAXP"] = "flop-maxp@1",
  ["FLOP-REMC"] = "flop-remc@1",
  ["FLOP-RENO"] = "flop-reno@1",
  ["FLOP-RUNW"] = "flop-runw@1",
  ["FLOP-STND"] = "flop-stnd@1",
  ["FLOP-TRML"] = "flop-trml@1",

  -- operations: times
  ["FLOP-ACTT"] = "flop-actt@1",
  ["FLOP-APPT"] = "flop-appt@1",
  ["FLOP-BOTM"] = "flop-botm@1",
  ["FLOP-CNCL"] = "flop-cncl@1",
  ["FLOP-COBT"] = "flop-cobt@1",
  ["FLOP-CTOT"] = "flop-ctot@1",
  ["FLOP-EGSR"] = "flop-egsr@1",
  ["FLOP-EGST"] = "flop-egst@1",
  ["FLOP-EOBT"] = "flop-eobt@1",
  ["FLOP-ESTT"] = "flop-estt@1",
  ["FLOP-FINT"] = "flop-fint@1",
  ["FLOP-IEST"] = "flop-iest@1",
  ["FLOP-LACL"] = "flop-lacl@1",
  ["FLOP-NAAT"] = "flop-naat@1",
  ["FLOP-NEAT"] = "flop-neat@1",
  ["FLOP-PADT"] = "flop-padt@1",
  ["FLOP-PEDT"] = "flop-pedt@1",
  ["FLOP-TOBT"] = "flop-tobt@1",

  -- operations: objects
  ["FLOP-FDIV"] = "flop-fdiv@1",
  ["FLOP-FRET"] = "flop-fret@1",
  ["FLOP-FLAB"] = "flop-flab@1",

  -- operations: lists
  ["FLOP-GTDT"] = "flop-gtdt@1",
  ["FLOP-CKDT"] = "flop-ckdt@1",
  ["FLOP-CLDT"] = "flop-cldt@1",
  ["FLOP-PSDT"] = "flop-psdt@1",
  ["FLOP-CHDT"] = "flop-chdt@1",
  ["FLOP-ABTM"] = "flop-abtm@1",
  ["FLOP-CHOT"] = "flop-chot@1",
  ["FLOP-ERUT"] = "flop-erut@1",
  ["FLOP-ROUT"] = "flop-rout@1",
  ["FLOP-DELY"] = "flop-dely@1",
  ["FLOP-SRVT"] = "flop-srvt@1",
  ["FLOP-VIPF"] = "flop-vipf@1",
  ["FLOP-PORT"] = "flop-port@1",
  ["FLOP-TIPT"] = "flop-tipt@1",
  ["FLOP-PSHT"] = "flop-psht@1",

  -- operations: several fields at once
  ["FLOP-EXSS"] = "flop-exss@1",
  ["FLOP-HNAG"] = "flop-hnag@1",
  ["FLOP-TAOP"] = "flop-taop@1",
  ["FLOP-VIPP"] = "flop-vipp@1",

  -- a kind without an entry of its own: the longest pattern that covers it
  defaults = {
    ["REF-*"] = "ref@1",
  },

  -- kinds of the catalogue that we do not handle
  unsupported = {},
}
