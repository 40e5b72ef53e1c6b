---@meta msgx
-- Generated from the catalogue by "go generate ./schemas"; do not edit.

---Stands for an element that was there and empty. It occurs only in the records of
---a message: compare with it (said == CLEAR), never put it into a decision.
---@class msgx.Clear
CLEAR = {}

---id, such as "1000345"
---(on the wire 1000345: 1 to 18 digits without a sign; leading zeros and blanks around it are dropped; exact)
---@alias msgx.id string

---int, such as 180
---(on the wire 180: digits with an optional sign, within 32 bits)
---@alias msgx.int integer

---decimal, such as "1234.5"
---(on the wire 1234.5: digits with an optional point, without a sign, at most 38 that count; exact)
---@alias msgx.decimal string

---datetime, such as "2021-01-23T05:35:00+08:00"
---(on the wire 23JAN210535: DDMONYYHHMM in the airport zone, month name in any case, year 20YY, 2400 not valid)
---@alias msgx.datetime string

---date, such as "2021-01-23"
---(on the wire 23JAN21: DDMONYY, month name in any case, year 20YY)
---@alias msgx.date string

---stamp, such as "2021-01-23T22:31:26+08:00"
---(on the wire 20210123223126: yyyyMMddHHmmss in the airport zone)
---@alias msgx.stamp string

---duration, such as 121
---(on the wire 0201: HHMM, hours may exceed 23; kept as whole minutes)
---@alias msgx.duration integer

---code, such as "CA"
---(on the wire CA: text without the blanks around it, up to the field's maximum length)
---@alias msgx.code string

---text, such as "天气原因"
---(on the wire 天气原因: text without the blanks around it, up to the field's maximum length)
---@alias msgx.text string

---flag, such as "A"
---(on the wire A: one of the values listed for the field)
---@alias msgx.flag string

---diversion
---@class msgx.FDIV
---@field DDES? msgx.code diversion destination (at most 20 characters)
---@field DDIR? "TO"|"FROM" diverted to here or from here
---@field TEXT? msgx.text reason (at most 256 characters)

---return
---@class msgx.FRET
---@field REID? "G"|"A" returned from the ground or the air
---@field TEXT? msgx.text reason (at most 256 characters)

---abnormality
---@class msgx.FLAB
---@field ARES? "O"|"G" on the own or the general side
---@field TEXT? msgx.text reason (at most 256 characters)

---one entry of ROUT, planned route
---@class msgx.ROUT
---@field RTNO? msgx.int source sequence, may be absent or repeat
---@field APCD? msgx.code airport (at most 20 characters)
---@field SCAT? msgx.datetime scheduled arrival
---@field SCDT? msgx.datetime scheduled departure

---one entry of ERUT, estimated route
---@class msgx.ERUT
---@field RTNO? msgx.int source sequence, may be absent or repeat
---@field APCD? msgx.code airport (at most 20 characters)
---@field SCAT? msgx.datetime scheduled arrival
---@field SADC? msgx.text arrival day change, such as +1 (at most 8 characters)
---@field SCDT? msgx.datetime scheduled departure
---@field SDDC? msgx.text departure day change, such as +1 (at most 8 characters)

---one entry of GTDT, gate allocations
---@class msgx.GTDT
---@field GTNO? msgx.int source sequence, may be absent or repeat
---@field GATE? msgx.code gate (at most 20 characters)
---@field PGOT? msgx.datetime planned opening
---@field PGCT? msgx.datetime planned closing
---@field GOTM? msgx.datetime opened
---@field GCTM? msgx.datetime closed
---@field GTYP? msgx.code gate type (at most 20 characters)

---one entry of CKDT, check-in counters
---@class msgx.CKDT
---@field CKNO? msgx.int source sequence, may be absent or repeat
---@field CHKC? msgx.code counter (at most 20 characters)
---@field CCLS? msgx.code class (at most 20 characters)
---@field PCOT? msgx.datetime planned opening
---@field PCCT? msgx.datetime planned closing
---@field COTM? msgx.datetime opened
---@field CCTM? msgx.datetime closed
---@field CTYP? msgx.code counter type (at most 20 characters)

---one entry of CLDT, baggage belts
---@class msgx.CLDT
---@field CLNO? msgx.int source sequence, may be absent or repeat
---@field BELT? msgx.code belt (at most 20 characters)
---@field BCLS? msgx.code class (at most 20 characters)
---@field PCOT? msgx.datetime planned opening
---@field PCCT? msgx.datetime planned closing
---@field FBAG? msgx.datetime first bag
---@field LBAG? msgx.datetime last bag
---@field BTYP? msgx.code belt type (at most 20 characters)

---one entry of PSDT, planned stands
---@class msgx.PSDT
---@field PSNO? msgx.int source sequence, may be absent or repeat
---@field PSST? msgx.code stand (at most 20 characters)
---@field STST? msgx.datetime start
---@field STET? msgx.datetime end

---one entry of CHDT, baggage chutes
---@class msgx.CHDT
---@field CHNO? msgx.int source sequence, may be absent or repeat
---@field CHUT? msgx.code chute (at most 20 characters)
---@field CCLS? msgx.code class (at most 20 characters)
---@field PCBT? msgx.datetime planned begin
---@field PCET? msgx.datetime planned end
---@field CBTM? msgx.datetime began
---@field CETM? msgx.datetime ended
---@field CTYP? msgx.code chute type (at most 20 characters)

---one entry of DELY, delays
---@class msgx.DELY
---@field CODE? msgx.code delay code (at most 20 characters)
---@field STRT? msgx.datetime start
---@field DURA? msgx.duration length
---@field TEXT? msgx.text reason (at most 256 characters)

---one entry of ABTM, air bridges
---@class msgx.ABTM
---@field ASNO? msgx.int source sequence, may be absent or repeat
---@field ABDG? msgx.code bridge (at most 20 characters)
---@field ABOP? "A"|"D" attached or detached
---@field AOTM? msgx.datetime time

---one entry of CHOT, chocks
---@class msgx.CHOT
---@field CSNO? msgx.int source sequence, may be absent or repeat
---@field CHTM? msgx.datetime time
---@field CHID? "ON"|"OFF" on or off
---@field CHST? msgx.code stand (at most 20 characters)

---one entry of PORT, doors
---@class msgx.PORT
---@field POTM? msgx.datetime time
---@field POID? "O"|"C" opened or closed

---one entry of PSHT, push-backs
---@class msgx.PSHT
---@field PSHN? msgx.int source sequence, may be absent or repeat
---@field PSTM? msgx.datetime time
---@field PSID? "IN"|"OUT" in or out
---@field PUST? msgx.code stand (at most 20 characters)

---one entry of TIPT, taxi times
---@class msgx.TIPT
---@field TRTM? msgx.datetime time
---@field TRST? msgx.code point (at most 20 characters)

---one entry of SRVT, services
---@class msgx.SRVT
---@field SRTC? msgx.code service type (at most 20 characters)
---@field SRQT? msgx.int quantity
---@field SRST? msgx.datetime start
---@field SRET? msgx.datetime end
---@field SRPR? msgx.code provider (at most 20 characters)
---@field SANR? msgx.code announcement reference (at most 20 characters)
---@field SARR? msgx.code arrival reference (at most 20 characters)

---one entry of VIPT, services of a VIP
---@class msgx.VIPT
---@field VSCD? msgx.code service (at most 20 characters)
---@field VTQY? msgx.int quantity
---@field VTST? msgx.datetime start
---@field VTET? msgx.datetime end

---one entry of VIPF, VIPs
---@class msgx.VIPF
---@field VPCD? msgx.code VIP code (at most 20 characters)
---@field VFES? msgx.int number of escorts
---@field VIPT? msgx.VIPT[] services of a VIP

---@class msgx.Member
---@field FLID msgx.id
---@field FLNO? msgx.code

---the current state of a flight, read-only; what has no value is nil, an empty list is {}
---@class msgx.Flight
---@field flid msgx.id the flight
---@field state "ACTIVE"|"DELETED" whether it lives
---@field version integer grows by one with every change
---@field operation_day? msgx.date nil while unknown, never changes once set
---@field FLID? msgx.id flight instance, the only identity
---@field FFID? msgx.text display key, identifies nothing (at most 40 characters)
---@field ALCD? msgx.code airline (at most 20 characters)
---@field ALSC? msgx.code airline sub-company (at most 20 characters)
---@field FLNO? msgx.code flight number (at most 12 characters)
---@field MVIN? "A"|"D" movement: arrival or departure
---@field SODT? msgx.datetime scheduled time, source of the operation day
---@field FLTY? msgx.code flight type (at most 3 characters)
---@field FLIN? "D"|"I"|"M" domestic, international or mixed
---@field ACFT? msgx.code aircraft type (at most 20 characters)
---@field RENO? msgx.code registration (at most 20 characters)
---@field TAOP? msgx.code turnaround operator (at most 20 characters)
---@field TAFL? msgx.code turnaround flight number (at most 20 characters)
---@field TAID? msgx.id turnaround FLID
---@field TRML? msgx.code terminal (at most 5 characters)
---@field MAXP? msgx.int seats
---@field CSOP? msgx.code code share: operator of the master (at most 20 characters)
---@field CSFT? msgx.code code share: number of the master (at most 20 characters)
---@field MAID? msgx.id code share: FLID of the master
---@field ESTT? msgx.datetime estimated time
---@field ACTT? msgx.datetime actual time
---@field STND? msgx.code current stand (at most 8 characters)
---@field PHAG? msgx.code passenger handling agent (at most 12 characters)
---@field FHAG? msgx.code ground handling agent (at most 12 characters)
---@field MHAG? msgx.code maintenance handling agent (at most 12 characters)
---@field CNCL? msgx.datetime cancelled at
---@field REMC? msgx.text remark (at most 80 characters)
---@field BOTM? msgx.datetime boarding opened
---@field LACL? msgx.datetime last call
---@field FINT? msgx.datetime final time
---@field APPT? msgx.datetime approved time
---@field EGSR? msgx.datetime engine start requested
---@field EGST? msgx.datetime engine started
---@field VIPP? msgx.int number of VIPs
---@field VIPR? msgx.int VIP ranking
---@field LBNO? msgx.int local bags
---@field LBWT? msgx.decimal weight of the local bags
---@field PAXC? msgx.int passengers
---@field EXSC? msgx.code external status (at most 8 characters)
---@field EXSR? msgx.text external status remark (at most 256 characters)
---@field FTSS? msgx.code flight status (at most 8 characters)
---@field PEDT? msgx.datetime previous station, estimated departure
---@field NEAT? msgx.datetime next station, estimated arrival
---@field PADT? msgx.datetime previous station, actual departure
---@field NAAT? msgx.datetime next station, actual arrival
---@field COBT? msgx.datetime calculated off-block time
---@field TOBT? msgx.datetime target off-block time
---@field EOBT? msgx.datetime estimated off-block time
---@field CTOT? msgx.datetime calculated take-off time
---@field IEST? msgx.datetime internal estimate
---@field RUNW? msgx.code runway (at most 8 characters)
---@field FDIV? msgx.FDIV diversion
---@field FRET? msgx.FRET return
---@field FLAB? msgx.FLAB abnormality
---@field ROUT msgx.ROUT[] planned route
---@field ERUT msgx.ERUT[] estimated route
---@field GTDT msgx.GTDT[] gate allocations
---@field CKDT msgx.CKDT[] check-in counters
---@field CLDT msgx.CLDT[] baggage belts
---@field PSDT msgx.PSDT[] planned stands
---@field CHDT msgx.CHDT[] baggage chutes
---@field DELY msgx.DELY[] delays
---@field ABTM msgx.ABTM[] air bridges
---@field CHOT msgx.CHOT[] chocks
---@field PORT msgx.PORT[] doors
---@field PSHT msgx.PSHT[] push-backs
---@field TIPT msgx.TIPT[] taxi times
---@field SRVT msgx.SRVT[] services
---@field VIPF msgx.VIPF[] VIPs
---@field MAFL msgx.Member[] the active code-share children of a master, by FLID; the host derives it

---one record of a message; what was absent is nil, what was empty is CLEAR
---@class msgx.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FLID? msgx.id|msgx.Clear flight instance, the only identity
---@field FFID? msgx.text|msgx.Clear display key, identifies nothing (at most 40 characters)
---@field ALCD? msgx.code|msgx.Clear airline (at most 20 characters)
---@field ALSC? msgx.code|msgx.Clear airline sub-company (at most 20 characters)
---@field FLNO? msgx.code|msgx.Clear flight number (at most 12 characters)
---@field MVIN? "A"|"D"|msgx.Clear movement: arrival or departure
---@field SODT? msgx.datetime|msgx.Clear scheduled time, source of the operation day
---@field FLTY? msgx.code|msgx.Clear flight type (at most 3 characters)
---@field FLIN? "D"|"I"|"M"|msgx.Clear domestic, international or mixed
---@field ACFT? msgx.code|msgx.Clear aircraft type (at most 20 characters)
---@field RENO? msgx.code|msgx.Clear registration (at most 20 characters)
---@field TAOP? msgx.code|msgx.Clear turnaround operator (at most 20 characters)
---@field TAFL? msgx.code|msgx.Clear turnaround flight number (at most 20 characters)
---@field TAID? msgx.id|msgx.Clear turnaround FLID
---@field TRML? msgx.code|msgx.Clear terminal (at most 5 characters)
---@field MAXP? msgx.int|msgx.Clear seats
---@field CSOP? msgx.code|msgx.Clear code share: operator of the master (at most 20 characters)
---@field CSFT? msgx.code|msgx.Clear code share: number of the master (at most 20 characters)
---@field MAID? msgx.id|msgx.Clear code share: FLID of the master
---@field ESTT? msgx.datetime|msgx.Clear estimated time
---@field ACTT? msgx.datetime|msgx.Clear actual time
---@field STND? msgx.code|msgx.Clear current stand (at most 8 characters)
---@field PHAG? msgx.code|msgx.Clear passenger handling agent (at most 12 characters)
---@field FHAG? msgx.code|msgx.Clear ground handling agent (at most 12 characters)
---@field MHAG? msgx.code|msgx.Clear maintenance handling agent (at most 12 characters)
---@field CNCL? msgx.datetime|msgx.Clear cancelled at
---@field REMC? msgx.text|msgx.Clear remark (at most 80 characters)
---@field BOTM? msgx.datetime|msgx.Clear boarding opened
---@field LACL? msgx.datetime|msgx.Clear last call
---@field FINT? msgx.datetime|msgx.Clear final time
---@field APPT? msgx.datetime|msgx.Clear approved time
---@field EGSR? msgx.datetime|msgx.Clear engine start requested
---@field EGST? msgx.datetime|msgx.Clear engine started
---@field VIPP? msgx.int|msgx.Clear number of VIPs
---@field VIPR? msgx.int|msgx.Clear VIP ranking
---@field LBNO? msgx.int|msgx.Clear local bags
---@field LBWT? msgx.decimal|msgx.Clear weight of the local bags
---@field PAXC? msgx.int|msgx.Clear passengers
---@field EXSC? msgx.code|msgx.Clear external status (at most 8 characters)
---@field EXSR? msgx.text|msgx.Clear external status remark (at most 256 characters)
---@field FTSS? msgx.code|msgx.Clear flight status (at most 8 characters)
---@field PEDT? msgx.datetime|msgx.Clear previous station, estimated departure
---@field NEAT? msgx.datetime|msgx.Clear next station, estimated arrival
---@field PADT? msgx.datetime|msgx.Clear previous station, actual departure
---@field NAAT? msgx.datetime|msgx.Clear next station, actual arrival
---@field COBT? msgx.datetime|msgx.Clear calculated off-block time
---@field TOBT? msgx.datetime|msgx.Clear target off-block time
---@field EOBT? msgx.datetime|msgx.Clear estimated off-block time
---@field CTOT? msgx.datetime|msgx.Clear calculated take-off time
---@field IEST? msgx.datetime|msgx.Clear internal estimate
---@field RUNW? msgx.code|msgx.Clear runway (at most 8 characters)
---@field FDIV? msgx.FDIV|msgx.Clear diversion
---@field FRET? msgx.FRET|msgx.Clear return
---@field FLAB? msgx.FLAB|msgx.Clear abnormality
---@field ROUT? msgx.ROUT[]|msgx.Clear planned route
---@field ERUT? msgx.ERUT[]|msgx.Clear estimated route
---@field GTDT? msgx.GTDT[]|msgx.Clear gate allocations
---@field CKDT? msgx.CKDT[]|msgx.Clear check-in counters
---@field CLDT? msgx.CLDT[]|msgx.Clear baggage belts
---@field PSDT? msgx.PSDT[]|msgx.Clear planned stands
---@field CHDT? msgx.CHDT[]|msgx.Clear baggage chutes
---@field DELY? msgx.DELY[]|msgx.Clear delays
---@field ABTM? msgx.ABTM[]|msgx.Clear air bridges
---@field CHOT? msgx.CHOT[]|msgx.Clear chocks
---@field PORT? msgx.PORT[]|msgx.Clear doors
---@field PSHT? msgx.PSHT[]|msgx.Clear push-backs
---@field TIPT? msgx.TIPT[]|msgx.Clear taxi times
---@field SRVT? msgx.SRVT[]|msgx.Clear services
---@field VIPF? msgx.VIPF[]|msgx.Clear VIPs

---one record of reference data
---@class msgx.ReferenceRecord
---@field key? string its key, nil when it has none
---@field value table<string, any> the whole record; attributes are "@NAME", a repeated element is an array

---@alias msgx.Kind
---| "SCHD-DNLD" # daily schedule, pushed
---| "SCHD-RESP" # daily schedule, answer to RQFD
---| "SCHD-ADFT" # additional flight
---| "FDEL" # deletion of a flight
---| "FLOP-ACFT" # sets ACFT
---| "FLOP-ACTT" # sets ACTT
---| "FLOP-APPT" # sets APPT
---| "FLOP-BOTM" # sets BOTM
---| "FLOP-CNCL" # sets CNCL
---| "FLOP-COBT" # sets COBT
---| "FLOP-CTOT" # sets CTOT
---| "FLOP-EGSR" # sets EGSR
---| "FLOP-EGST" # sets EGST
---| "FLOP-EOBT" # sets EOBT
---| "FLOP-ESTT" # sets ESTT
---| "FLOP-FINT" # sets FINT
---| "FLOP-FLIN" # sets FLIN
---| "FLOP-FLTY" # sets FLTY
---| "FLOP-FTSS" # sets FTSS
---| "FLOP-IEST" # sets IEST
---| "FLOP-LACL" # sets LACL
---| "FLOP-MAXP" # sets MAXP
---| "FLOP-NAAT" # sets NAAT
---| "FLOP-NEAT" # sets NEAT
---| "FLOP-PADT" # sets PADT
---| "FLOP-PEDT" # sets PEDT
---| "FLOP-REMC" # sets REMC
---| "FLOP-RENO" # sets RENO
---| "FLOP-RUNW" # sets RUNW
---| "FLOP-STND" # sets STND
---| "FLOP-TOBT" # sets TOBT
---| "FLOP-TRML" # sets TRML
---| "FLOP-FDIV" # sets FDIV
---| "FLOP-FRET" # sets FRET
---| "FLOP-FLAB" # sets FLAB
---| "FLOP-GTDT" # sets GTDT
---| "FLOP-CKDT" # sets CKDT
---| "FLOP-CLDT" # sets CLDT
---| "FLOP-PSDT" # sets PSDT
---| "FLOP-CHDT" # sets CHDT
---| "FLOP-ABTM" # sets ABTM
---| "FLOP-CHOT" # sets CHOT
---| "FLOP-ERUT" # sets ERUT
---| "FLOP-ROUT" # sets ROUT
---| "FLOP-DELY" # sets DELY
---| "FLOP-SRVT" # sets SRVT
---| "FLOP-VIPF" # sets VIPF
---| "FLOP-PORT" # sets PORT
---| "FLOP-TIPT" # sets TIPT
---| "FLOP-PSHT" # sets PSHT
---| "FLOP-EXSS" # sets EXSC, EXSR
---| "FLOP-HNAG" # sets PHAG, FHAG, MHAG
---| "FLOP-TAOP" # sets TAOP, TAFL, TAID
---| "FLOP-VIPP" # sets VIPP, VIPR
---| "REF-ABDG" # air bridges
---| "REF-ABNR" # abnormal reasons
---| "REF-AIRC" # aircraft types
---| "REF-AIRL" # airlines
---| "REF-ARPT" # airports
---| "REF-BLST" # baggage belts
---| "REF-CHLT" # chutes
---| "REF-CITY" # cities
---| "REF-CLST" # check-in counters
---| "REF-COUL" # countries
---| "REF-DLYL" # delay codes
---| "REF-FLTL" # flight types
---| "REF-GLST" # gates
---| "REF-HLTR" # health reasons
---| "REF-ORGN" # organisations
---| "REF-PLST" # piers
---| "REF-REGL" # regions
---| "REF-REGN" # registrations
---| "REF-SLST" # stands
---| "REF-STTS" # statuses
---| "REF-TLST" # terminals
---| "REF-VIPL" # VIP codes
---| "REF-VIPS" # VIP services

---the envelope of a message, in text as it stood
---@class msgx.Meta
---@field sndr string sender
---@field seqn string the sender's sequence number, digits
---@field dttm? msgx.stamp sent at
---@field type string message type
---@field styp string message subtype

---a decoded message, read-only
---@class msgx.AnyMessage
---@field kind msgx.Kind what it is
---@field meta msgx.Meta its envelope
---@field recs? integer the declared number of records
---@field records table[] in document order

---a message of flights
---@class msgx.Message : msgx.AnyMessage
---@field records msgx.Record[] in document order

---a message of reference data
---@class msgx.ReferenceMessage : msgx.AnyMessage
---@field records msgx.ReferenceRecord[] in document order

---The settings of the configuration that reach rules.
---@class msgx.Settings
---@field absent_optional "keep"|"clear" what the absence of a field in a schedule means

---What a rule may look at, read-only: the flights that the message names, their masters and
---children, deleted ones among them, and the reference data that the script reads.
---@class msgx.View
---@field flights table<msgx.id, msgx.Flight>
---@field refs? table<msgx.ReferenceType, table<string, table<string, any>>> only with "reads" in the script
---@field settings msgx.Settings

---new values by tag; an object is set as a whole
---@class msgx.Set
---@field FLID? msgx.id flight instance, the only identity
---@field FFID? msgx.text display key, identifies nothing (at most 40 characters)
---@field ALCD? msgx.code airline (at most 20 characters)
---@field ALSC? msgx.code airline sub-company (at most 20 characters)
---@field FLNO? msgx.code flight number (at most 12 characters)
---@field MVIN? "A"|"D" movement: arrival or departure
---@field SODT? msgx.datetime scheduled time, source of the operation day
---@field FLTY? msgx.code flight type (at most 3 characters)
---@field FLIN? "D"|"I"|"M" domestic, international or mixed
---@field ACFT? msgx.code aircraft type (at most 20 characters)
---@field RENO? msgx.code registration (at most 20 characters)
---@field TAOP? msgx.code turnaround operator (at most 20 characters)
---@field TAFL? msgx.code turnaround flight number (at most 20 characters)
---@field TAID? msgx.id turnaround FLID
---@field TRML? msgx.code terminal (at most 5 characters)
---@field MAXP? msgx.int seats
---@field CSOP? msgx.code code share: operator of the master (at most 20 characters)
---@field CSFT? msgx.code code share: number of the master (at most 20 characters)
---@field MAID? msgx.id code share: FLID of the master
---@field ESTT? msgx.datetime estimated time
---@field ACTT? msgx.datetime actual time
---@field STND? msgx.code current stand (at most 8 characters)
---@field PHAG? msgx.code passenger handling agent (at most 12 characters)
---@field FHAG? msgx.code ground handling agent (at most 12 characters)
---@field MHAG? msgx.code maintenance handling agent (at most 12 characters)
---@field CNCL? msgx.datetime cancelled at
---@field REMC? msgx.text remark (at most 80 characters)
---@field BOTM? msgx.datetime boarding opened
---@field LACL? msgx.datetime last call
---@field FINT? msgx.datetime final time
---@field APPT? msgx.datetime approved time
---@field EGSR? msgx.datetime engine start requested
---@field EGST? msgx.datetime engine started
---@field VIPP? msgx.int number of VIPs
---@field VIPR? msgx.int VIP ranking
---@field LBNO? msgx.int local bags
---@field LBWT? msgx.decimal weight of the local bags
---@field PAXC? msgx.int passengers
---@field EXSC? msgx.code external status (at most 8 characters)
---@field EXSR? msgx.text external status remark (at most 256 characters)
---@field FTSS? msgx.code flight status (at most 8 characters)
---@field PEDT? msgx.datetime previous station, estimated departure
---@field NEAT? msgx.datetime next station, estimated arrival
---@field PADT? msgx.datetime previous station, actual departure
---@field NAAT? msgx.datetime next station, actual arrival
---@field COBT? msgx.datetime calculated off-block time
---@field TOBT? msgx.datetime target off-block time
---@field EOBT? msgx.datetime estimated off-block time
---@field CTOT? msgx.datetime calculated take-off time
---@field IEST? msgx.datetime internal estimate
---@field RUNW? msgx.code runway (at most 8 characters)
---@field FDIV? msgx.FDIV diversion
---@field FRET? msgx.FRET return
---@field FLAB? msgx.FLAB abnormality

---whole new lists by tag; {} empties a list
---@class msgx.Lists
---@field ROUT? msgx.ROUT[] planned route
---@field ERUT? msgx.ERUT[] estimated route
---@field GTDT? msgx.GTDT[] gate allocations
---@field CKDT? msgx.CKDT[] check-in counters
---@field CLDT? msgx.CLDT[] baggage belts
---@field PSDT? msgx.PSDT[] planned stands
---@field CHDT? msgx.CHDT[] baggage chutes
---@field DELY? msgx.DELY[] delays
---@field ABTM? msgx.ABTM[] air bridges
---@field CHOT? msgx.CHOT[] chocks
---@field PORT? msgx.PORT[] doors
---@field PSHT? msgx.PSHT[] push-backs
---@field TIPT? msgx.TIPT[] taxi times
---@field SRVT? msgx.SRVT[] services
---@field VIPF? msgx.VIPF[] VIPs

---@alias msgx.ClearTag
---| "FLID"
---| "FFID"
---| "ALCD"
---| "ALSC"
---| "FLNO"
---| "MVIN"
---| "SODT"
---| "FLTY"
---| "FLIN"
---| "ACFT"
---| "RENO"
---| "TAOP"
---| "TAFL"
---| "TAID"
---| "TRML"
---| "MAXP"
---| "CSOP"
---| "CSFT"
---| "MAID"
---| "ESTT"
---| "ACTT"
---| "STND"
---| "PHAG"
---| "FHAG"
---| "MHAG"
---| "CNCL"
---| "REMC"
---| "BOTM"
---| "LACL"
---| "FINT"
---| "APPT"
---| "EGSR"
---| "EGST"
---| "VIPP"
---| "VIPR"
---| "LBNO"
---| "LBWT"
---| "PAXC"
---| "EXSC"
---| "EXSR"
---| "FTSS"
---| "PEDT"
---| "NEAT"
---| "PADT"
---| "NAAT"
---| "COBT"
---| "TOBT"
---| "EOBT"
---| "CTOT"
---| "IEST"
---| "RUNW"
---| "FDIV"
---| "FRET"
---| "FLAB"

---@alias msgx.Tag
---| "FFID"
---| "ALCD"
---| "ALSC"
---| "FLNO"
---| "MVIN"
---| "SODT"
---| "FLTY"
---| "FLIN"
---| "ACFT"
---| "RENO"
---| "TAOP"
---| "TAFL"
---| "TAID"
---| "TRML"
---| "MAXP"
---| "CSOP"
---| "CSFT"
---| "MAID"
---| "ESTT"
---| "ACTT"
---| "STND"
---| "PHAG"
---| "FHAG"
---| "MHAG"
---| "CNCL"
---| "REMC"
---| "BOTM"
---| "LACL"
---| "FINT"
---| "APPT"
---| "EGSR"
---| "EGST"
---| "VIPP"
---| "VIPR"
---| "LBNO"
---| "LBWT"
---| "PAXC"
---| "EXSC"
---| "EXSR"
---| "FTSS"
---| "PEDT"
---| "NEAT"
---| "PADT"
---| "NAAT"
---| "COBT"
---| "TOBT"
---| "EOBT"
---| "CTOT"
---| "IEST"
---| "RUNW"
---| "FDIV"
---| "FRET"
---| "FLAB"
---| "ROUT"
---| "ERUT"
---| "GTDT"
---| "CKDT"
---| "CLDT"
---| "PSDT"
---| "CHDT"
---| "DELY"
---| "ABTM"
---| "CHOT"
---| "PORT"
---| "PSHT"
---| "TIPT"
---| "SRVT"
---| "VIPF"

---@alias msgx.ReferenceType
---| "ABDG"
---| "ABNR"
---| "AIRC"
---| "AIRL"
---| "ARPT"
---| "BLST"
---| "CHLT"
---| "CITY"
---| "CLST"
---| "COUL"
---| "DLYL"
---| "FLTL"
---| "GLST"
---| "HLTR"
---| "ORGN"
---| "PLST"
---| "REGL"
---| "REGN"
---| "SLST"
---| "STTS"
---| "TLST"
---| "VIPL"
---| "VIPS"

---RQFD: asks for the schedule between two times
---@class msgx.Request.RQFD
---@field request "RQFD" which request
---@field STDB msgx.datetime from
---@field STDE msgx.datetime to

---RQRD: asks for reference data of one type; the subtype is that type
---@class msgx.Request.RQRD
---@field request "RQRD" which request
---@field RTYP msgx.code reference type

---EROR: reports an error upstream
---@class msgx.Request.EROR
---@field request "EROR" which request
---@field SEQN? msgx.code sequence number of the message at fault
---@field TYPE? msgx.code its type
---@field STYP? msgx.code its subtype
---@field CODE msgx.code error code
---@field TEXT? msgx.text what is wrong

---@alias msgx.Outbound msgx.Request.RQFD|msgx.Request.RQRD|msgx.Request.EROR

---what merge.flop does with each element
---@class msgx.Modes
---@field FFID? msgx.ValueMode display key, identifies nothing
---@field ALCD? msgx.ValueMode airline
---@field ALSC? msgx.ValueMode airline sub-company
---@field FLNO? msgx.ValueMode flight number
---@field MVIN? msgx.ValueMode movement: arrival or departure
---@field SODT? msgx.ValueMode scheduled time, source of the operation day
---@field FLTY? msgx.ValueMode flight type
---@field FLIN? msgx.ValueMode domestic, international or mixed
---@field ACFT? msgx.ValueMode aircraft type
---@field RENO? msgx.ValueMode registration
---@field TAOP? msgx.ValueMode turnaround operator
---@field TAFL? msgx.ValueMode turnaround flight number
---@field TAID? msgx.ValueMode turnaround FLID
---@field TRML? msgx.ValueMode terminal
---@field MAXP? msgx.ValueMode seats
---@field CSOP? msgx.ValueMode code share: operator of the master
---@field CSFT? msgx.ValueMode code share: number of the master
---@field MAID? msgx.ValueMode code share: FLID of the master
---@field ESTT? msgx.ValueMode estimated time
---@field ACTT? msgx.ValueMode actual time
---@field STND? msgx.ValueMode current stand
---@field PHAG? msgx.ValueMode passenger handling agent
---@field FHAG? msgx.ValueMode ground handling agent
---@field MHAG? msgx.ValueMode maintenance handling agent
---@field CNCL? msgx.ValueMode cancelled at
---@field REMC? msgx.ValueMode remark
---@field BOTM? msgx.ValueMode boarding opened
---@field LACL? msgx.ValueMode last call
---@field FINT? msgx.ValueMode final time
---@field APPT? msgx.ValueMode approved time
---@field EGSR? msgx.ValueMode engine start requested
---@field EGST? msgx.ValueMode engine started
---@field VIPP? msgx.ValueMode number of VIPs
---@field VIPR? msgx.ValueMode VIP ranking
---@field LBNO? msgx.ValueMode local bags
---@field LBWT? msgx.ValueMode weight of the local bags
---@field PAXC? msgx.ValueMode passengers
---@field EXSC? msgx.ValueMode external status
---@field EXSR? msgx.ValueMode external status remark
---@field FTSS? msgx.ValueMode flight status
---@field PEDT? msgx.ValueMode previous station, estimated departure
---@field NEAT? msgx.ValueMode next station, estimated arrival
---@field PADT? msgx.ValueMode previous station, actual departure
---@field NAAT? msgx.ValueMode next station, actual arrival
---@field COBT? msgx.ValueMode calculated off-block time
---@field TOBT? msgx.ValueMode target off-block time
---@field EOBT? msgx.ValueMode estimated off-block time
---@field CTOT? msgx.ValueMode calculated take-off time
---@field IEST? msgx.ValueMode internal estimate
---@field RUNW? msgx.ValueMode runway
---@field FDIV? msgx.ValueMode diversion
---@field FRET? msgx.ValueMode return
---@field FLAB? msgx.ValueMode abnormality
---@field ROUT? msgx.ListMode planned route
---@field ERUT? msgx.ListMode estimated route
---@field GTDT? msgx.ListMode gate allocations
---@field CKDT? msgx.ListMode check-in counters
---@field CLDT? msgx.ListMode baggage belts
---@field PSDT? msgx.ListMode planned stands
---@field CHDT? msgx.ListMode baggage chutes
---@field DELY? msgx.ListMode delays
---@field ABTM? msgx.ListMode air bridges
---@field CHOT? msgx.ListMode chocks
---@field PORT? msgx.ListMode doors
---@field PSHT? msgx.ListMode push-backs
---@field TIPT? msgx.ListMode taxi times
---@field SRVT? msgx.ListMode services
---@field VIPF? msgx.ListMode VIPs

---@alias msgx.ListElement
---| "ABDG"
---| "ABOP"
---| "AOTM"
---| "APCD"
---| "ASNO"
---| "BCLS"
---| "BELT"
---| "BTYP"
---| "CBTM"
---| "CCLS"
---| "CCTM"
---| "CETM"
---| "CHID"
---| "CHKC"
---| "CHNO"
---| "CHST"
---| "CHTM"
---| "CHUT"
---| "CKNO"
---| "CLNO"
---| "CODE"
---| "COTM"
---| "CSNO"
---| "CTYP"
---| "DURA"
---| "FBAG"
---| "GATE"
---| "GCTM"
---| "GOTM"
---| "GTNO"
---| "GTYP"
---| "LBAG"
---| "PCBT"
---| "PCCT"
---| "PCET"
---| "PCOT"
---| "PGCT"
---| "PGOT"
---| "POID"
---| "POTM"
---| "PSHN"
---| "PSID"
---| "PSNO"
---| "PSST"
---| "PSTM"
---| "PUST"
---| "RTNO"
---| "SADC"
---| "SANR"
---| "SARR"
---| "SCAT"
---| "SCDT"
---| "SDDC"
---| "SRET"
---| "SRPR"
---| "SRQT"
---| "SRST"
---| "SRTC"
---| "STET"
---| "STRT"
---| "STST"
---| "TEXT"
---| "TRST"
---| "TRTM"
---| "VFES"
---| "VPCD"

---What happens to one flight; one entry for each FLID.
---@class msgx.Change
---@field flid msgx.id
---@field op "create"|"update"|"revive"|"delete"
---@field set? msgx.Set
---@field clear? msgx.ClearTag[] tags of scalars and objects to empty
---@field lists? msgx.Lists

---What happens to one reference record.
---@class msgx.RefChange
---@field type msgx.ReferenceType
---@field key string
---@field op "upsert"|"delete"
---@field value? table<string, any> the whole record, for an upsert

---Names what was left out, and why.
---@class msgx.Note
---@field flid? msgx.id
---@field reason string

---What a rule decides. skip and reject stand alone.
---@class msgx.Decision
---@field changes? msgx.Change[]
---@field refs? msgx.RefChange[]
---@field outbound? msgx.Outbound[]
---@field notes? msgx.Note[]
---@field skip? string the message ends SKIPPED with this reason
---@field reject? string the message ends DEAD (PROTOCOL) with this reason

---What the file of any script returns, but for decide: each kind has a class of its own with the
---message that decide gets, such as msgx.FLOP_GTDT.Script.
---@class msgx.Script
---@field kind? msgx.Kind the kind it handles
---@field kinds? string[] or several; "REF-*" stands for all that begin so
---@field writes (msgx.Tag|"*")[] the footprint: the host refuses a decision outside it
---@field ops? ("create"|"update"|"revive"|"delete")[] what it may do; only update when not given
---@field reads? msgx.ReferenceType[] reference data that it wants in view.refs

---What the file of a script for schedules returns.
---@class msgx.Schedule.Script : msgx.Script
---@field decide fun(view: msgx.View, msg: msgx.Message): msgx.Decision

---What the file of a script for reference data returns.
---@class msgx.Reference.Script : msgx.Script
---@field decide fun(view: msgx.View, msg: msgx.ReferenceMessage): msgx.Decision

---One flight as a decision is about to change it: require("draft").
---@class msgx.Draft
---@field op "create"|"update"|"revive"|"delete"
---@field flid msgx.id
---@field flight msgx.Flight|table the state it starts from
---@field set msgx.Set
---@field cleared table<string, true>
---@field lists msgx.Lists

---What becomes of an element that a message carries; said is CLEAR when it was empty.
---@alias msgx.Mode fun(d: msgx.Draft, tag: string, said: any)

---A mode for scalars and objects: merge.value, or merge.set_only of it.
---@alias msgx.ValueMode msgx.Mode

---A mode for lists: merge.replace, merge.by_key, or merge.set_only of one of them.
---@alias msgx.ListMode msgx.Mode

---What merge.schedule does with what a schedule carries.
---@class msgx.How
---@field value msgx.ValueMode for scalars and objects
---@field list msgx.ListMode for lists
---@field absent? "keep"|"clear" what becomes of what a record does not carry

---What handlers.lua returns: kind to script at its version, such as "flop-gtdt@1".
---@class msgx.Handlers
---@field defaults? table<string, string> pattern to script, for kinds without an entry of their own
---@field unsupported? msgx.Kind[] kinds that no script handles
---@field [msgx.Kind] string

---one record of FDEL; what was absent is nil, what was empty is CLEAR
---@class msgx.FDEL.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key

---FDEL: deletion of a flight
---@class msgx.FDEL.Message : msgx.AnyMessage
---@field kind "FDEL" what it is
---@field records msgx.FDEL.Record[] in document order

---what the file of a script for FDEL returns
---@class msgx.FDEL.Script : msgx.Script
---@field kind "FDEL" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FDEL.Message): msgx.Decision the rule

---one record of FLOP-ACFT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ACFT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ACFT? msgx.code|msgx.Clear aircraft type (at most 20 characters)

---FLOP-ACFT: sets ACFT
---@class msgx.FLOP_ACFT.Message : msgx.AnyMessage
---@field kind "FLOP-ACFT" what it is
---@field records msgx.FLOP_ACFT.Record[] in document order

---what the file of a script for FLOP-ACFT returns
---@class msgx.FLOP_ACFT.Script : msgx.Script
---@field kind "FLOP-ACFT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ACFT.Message): msgx.Decision the rule

---one record of FLOP-ACTT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ACTT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ACTT? msgx.datetime|msgx.Clear actual time

---FLOP-ACTT: sets ACTT
---@class msgx.FLOP_ACTT.Message : msgx.AnyMessage
---@field kind "FLOP-ACTT" what it is
---@field records msgx.FLOP_ACTT.Record[] in document order

---what the file of a script for FLOP-ACTT returns
---@class msgx.FLOP_ACTT.Script : msgx.Script
---@field kind "FLOP-ACTT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ACTT.Message): msgx.Decision the rule

---one record of FLOP-APPT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_APPT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field APPT? msgx.datetime|msgx.Clear approved time

---FLOP-APPT: sets APPT
---@class msgx.FLOP_APPT.Message : msgx.AnyMessage
---@field kind "FLOP-APPT" what it is
---@field records msgx.FLOP_APPT.Record[] in document order

---what the file of a script for FLOP-APPT returns
---@class msgx.FLOP_APPT.Script : msgx.Script
---@field kind "FLOP-APPT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_APPT.Message): msgx.Decision the rule

---one record of FLOP-BOTM; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_BOTM.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field BOTM? msgx.datetime|msgx.Clear boarding opened

---FLOP-BOTM: sets BOTM
---@class msgx.FLOP_BOTM.Message : msgx.AnyMessage
---@field kind "FLOP-BOTM" what it is
---@field records msgx.FLOP_BOTM.Record[] in document order

---what the file of a script for FLOP-BOTM returns
---@class msgx.FLOP_BOTM.Script : msgx.Script
---@field kind "FLOP-BOTM" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_BOTM.Message): msgx.Decision the rule

---one record of FLOP-CNCL; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CNCL.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CNCL? msgx.datetime|msgx.Clear cancelled at

---FLOP-CNCL: sets CNCL
---@class msgx.FLOP_CNCL.Message : msgx.AnyMessage
---@field kind "FLOP-CNCL" what it is
---@field records msgx.FLOP_CNCL.Record[] in document order

---what the file of a script for FLOP-CNCL returns
---@class msgx.FLOP_CNCL.Script : msgx.Script
---@field kind "FLOP-CNCL" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CNCL.Message): msgx.Decision the rule

---one record of FLOP-COBT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_COBT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field COBT? msgx.datetime|msgx.Clear calculated off-block time

---FLOP-COBT: sets COBT
---@class msgx.FLOP_COBT.Message : msgx.AnyMessage
---@field kind "FLOP-COBT" what it is
---@field records msgx.FLOP_COBT.Record[] in document order

---what the file of a script for FLOP-COBT returns
---@class msgx.FLOP_COBT.Script : msgx.Script
---@field kind "FLOP-COBT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_COBT.Message): msgx.Decision the rule

---one record of FLOP-CTOT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CTOT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CTOT? msgx.datetime|msgx.Clear calculated take-off time

---FLOP-CTOT: sets CTOT
---@class msgx.FLOP_CTOT.Message : msgx.AnyMessage
---@field kind "FLOP-CTOT" what it is
---@field records msgx.FLOP_CTOT.Record[] in document order

---what the file of a script for FLOP-CTOT returns
---@class msgx.FLOP_CTOT.Script : msgx.Script
---@field kind "FLOP-CTOT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CTOT.Message): msgx.Decision the rule

---one record of FLOP-EGSR; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_EGSR.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field EGSR? msgx.datetime|msgx.Clear engine start requested

---FLOP-EGSR: sets EGSR
---@class msgx.FLOP_EGSR.Message : msgx.AnyMessage
---@field kind "FLOP-EGSR" what it is
---@field records msgx.FLOP_EGSR.Record[] in document order

---what the file of a script for FLOP-EGSR returns
---@class msgx.FLOP_EGSR.Script : msgx.Script
---@field kind "FLOP-EGSR" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_EGSR.Message): msgx.Decision the rule

---one record of FLOP-EGST; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_EGST.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field EGST? msgx.datetime|msgx.Clear engine started

---FLOP-EGST: sets EGST
---@class msgx.FLOP_EGST.Message : msgx.AnyMessage
---@field kind "FLOP-EGST" what it is
---@field records msgx.FLOP_EGST.Record[] in document order

---what the file of a script for FLOP-EGST returns
---@class msgx.FLOP_EGST.Script : msgx.Script
---@field kind "FLOP-EGST" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_EGST.Message): msgx.Decision the rule

---one record of FLOP-EOBT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_EOBT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field EOBT? msgx.datetime|msgx.Clear estimated off-block time

---FLOP-EOBT: sets EOBT
---@class msgx.FLOP_EOBT.Message : msgx.AnyMessage
---@field kind "FLOP-EOBT" what it is
---@field records msgx.FLOP_EOBT.Record[] in document order

---what the file of a script for FLOP-EOBT returns
---@class msgx.FLOP_EOBT.Script : msgx.Script
---@field kind "FLOP-EOBT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_EOBT.Message): msgx.Decision the rule

---one record of FLOP-ESTT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ESTT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ESTT? msgx.datetime|msgx.Clear estimated time

---FLOP-ESTT: sets ESTT
---@class msgx.FLOP_ESTT.Message : msgx.AnyMessage
---@field kind "FLOP-ESTT" what it is
---@field records msgx.FLOP_ESTT.Record[] in document order

---what the file of a script for FLOP-ESTT returns
---@class msgx.FLOP_ESTT.Script : msgx.Script
---@field kind "FLOP-ESTT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ESTT.Message): msgx.Decision the rule

---one record of FLOP-FINT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FINT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FINT? msgx.datetime|msgx.Clear final time

---FLOP-FINT: sets FINT
---@class msgx.FLOP_FINT.Message : msgx.AnyMessage
---@field kind "FLOP-FINT" what it is
---@field records msgx.FLOP_FINT.Record[] in document order

---what the file of a script for FLOP-FINT returns
---@class msgx.FLOP_FINT.Script : msgx.Script
---@field kind "FLOP-FINT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FINT.Message): msgx.Decision the rule

---one record of FLOP-FLIN; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FLIN.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FLIN? "D"|"I"|"M"|msgx.Clear domestic, international or mixed

---FLOP-FLIN: sets FLIN
---@class msgx.FLOP_FLIN.Message : msgx.AnyMessage
---@field kind "FLOP-FLIN" what it is
---@field records msgx.FLOP_FLIN.Record[] in document order

---what the file of a script for FLOP-FLIN returns
---@class msgx.FLOP_FLIN.Script : msgx.Script
---@field kind "FLOP-FLIN" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FLIN.Message): msgx.Decision the rule

---one record of FLOP-FLTY; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FLTY.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FLTY? msgx.code|msgx.Clear flight type (at most 3 characters)

---FLOP-FLTY: sets FLTY
---@class msgx.FLOP_FLTY.Message : msgx.AnyMessage
---@field kind "FLOP-FLTY" what it is
---@field records msgx.FLOP_FLTY.Record[] in document order

---what the file of a script for FLOP-FLTY returns
---@class msgx.FLOP_FLTY.Script : msgx.Script
---@field kind "FLOP-FLTY" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FLTY.Message): msgx.Decision the rule

---one record of FLOP-FTSS; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FTSS.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FTSS? msgx.code|msgx.Clear flight status (at most 8 characters)

---FLOP-FTSS: sets FTSS
---@class msgx.FLOP_FTSS.Message : msgx.AnyMessage
---@field kind "FLOP-FTSS" what it is
---@field records msgx.FLOP_FTSS.Record[] in document order

---what the file of a script for FLOP-FTSS returns
---@class msgx.FLOP_FTSS.Script : msgx.Script
---@field kind "FLOP-FTSS" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FTSS.Message): msgx.Decision the rule

---one record of FLOP-IEST; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_IEST.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field IEST? msgx.datetime|msgx.Clear internal estimate

---FLOP-IEST: sets IEST
---@class msgx.FLOP_IEST.Message : msgx.AnyMessage
---@field kind "FLOP-IEST" what it is
---@field records msgx.FLOP_IEST.Record[] in document order

---what the file of a script for FLOP-IEST returns
---@class msgx.FLOP_IEST.Script : msgx.Script
---@field kind "FLOP-IEST" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_IEST.Message): msgx.Decision the rule

---one record of FLOP-LACL; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_LACL.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field LACL? msgx.datetime|msgx.Clear last call

---FLOP-LACL: sets LACL
---@class msgx.FLOP_LACL.Message : msgx.AnyMessage
---@field kind "FLOP-LACL" what it is
---@field records msgx.FLOP_LACL.Record[] in document order

---what the file of a script for FLOP-LACL returns
---@class msgx.FLOP_LACL.Script : msgx.Script
---@field kind "FLOP-LACL" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_LACL.Message): msgx.Decision the rule

---one record of FLOP-MAXP; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_MAXP.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field MAXP? msgx.int|msgx.Clear seats

---FLOP-MAXP: sets MAXP
---@class msgx.FLOP_MAXP.Message : msgx.AnyMessage
---@field kind "FLOP-MAXP" what it is
---@field records msgx.FLOP_MAXP.Record[] in document order

---what the file of a script for FLOP-MAXP returns
---@class msgx.FLOP_MAXP.Script : msgx.Script
---@field kind "FLOP-MAXP" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_MAXP.Message): msgx.Decision the rule

---one record of FLOP-NAAT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_NAAT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field NAAT? msgx.datetime|msgx.Clear next station, actual arrival

---FLOP-NAAT: sets NAAT
---@class msgx.FLOP_NAAT.Message : msgx.AnyMessage
---@field kind "FLOP-NAAT" what it is
---@field records msgx.FLOP_NAAT.Record[] in document order

---what the file of a script for FLOP-NAAT returns
---@class msgx.FLOP_NAAT.Script : msgx.Script
---@field kind "FLOP-NAAT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_NAAT.Message): msgx.Decision the rule

---one record of FLOP-NEAT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_NEAT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field NEAT? msgx.datetime|msgx.Clear next station, estimated arrival

---FLOP-NEAT: sets NEAT
---@class msgx.FLOP_NEAT.Message : msgx.AnyMessage
---@field kind "FLOP-NEAT" what it is
---@field records msgx.FLOP_NEAT.Record[] in document order

---what the file of a script for FLOP-NEAT returns
---@class msgx.FLOP_NEAT.Script : msgx.Script
---@field kind "FLOP-NEAT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_NEAT.Message): msgx.Decision the rule

---one record of FLOP-PADT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_PADT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PADT? msgx.datetime|msgx.Clear previous station, actual departure

---FLOP-PADT: sets PADT
---@class msgx.FLOP_PADT.Message : msgx.AnyMessage
---@field kind "FLOP-PADT" what it is
---@field records msgx.FLOP_PADT.Record[] in document order

---what the file of a script for FLOP-PADT returns
---@class msgx.FLOP_PADT.Script : msgx.Script
---@field kind "FLOP-PADT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_PADT.Message): msgx.Decision the rule

---one record of FLOP-PEDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_PEDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PEDT? msgx.datetime|msgx.Clear previous station, estimated departure

---FLOP-PEDT: sets PEDT
---@class msgx.FLOP_PEDT.Message : msgx.AnyMessage
---@field kind "FLOP-PEDT" what it is
---@field records msgx.FLOP_PEDT.Record[] in document order

---what the file of a script for FLOP-PEDT returns
---@class msgx.FLOP_PEDT.Script : msgx.Script
---@field kind "FLOP-PEDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_PEDT.Message): msgx.Decision the rule

---one record of FLOP-REMC; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_REMC.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field REMC? msgx.text|msgx.Clear remark (at most 80 characters)

---FLOP-REMC: sets REMC
---@class msgx.FLOP_REMC.Message : msgx.AnyMessage
---@field kind "FLOP-REMC" what it is
---@field records msgx.FLOP_REMC.Record[] in document order

---what the file of a script for FLOP-REMC returns
---@class msgx.FLOP_REMC.Script : msgx.Script
---@field kind "FLOP-REMC" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_REMC.Message): msgx.Decision the rule

---one record of FLOP-RENO; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_RENO.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field RENO? msgx.code|msgx.Clear registration (at most 20 characters)

---FLOP-RENO: sets RENO
---@class msgx.FLOP_RENO.Message : msgx.AnyMessage
---@field kind "FLOP-RENO" what it is
---@field records msgx.FLOP_RENO.Record[] in document order

---what the file of a script for FLOP-RENO returns
---@class msgx.FLOP_RENO.Script : msgx.Script
---@field kind "FLOP-RENO" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_RENO.Message): msgx.Decision the rule

---one record of FLOP-RUNW; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_RUNW.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field RUNW? msgx.code|msgx.Clear runway (at most 8 characters)

---FLOP-RUNW: sets RUNW
---@class msgx.FLOP_RUNW.Message : msgx.AnyMessage
---@field kind "FLOP-RUNW" what it is
---@field records msgx.FLOP_RUNW.Record[] in document order

---what the file of a script for FLOP-RUNW returns
---@class msgx.FLOP_RUNW.Script : msgx.Script
---@field kind "FLOP-RUNW" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_RUNW.Message): msgx.Decision the rule

---one record of FLOP-STND; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_STND.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field STND? msgx.code|msgx.Clear current stand (at most 8 characters)

---FLOP-STND: sets STND
---@class msgx.FLOP_STND.Message : msgx.AnyMessage
---@field kind "FLOP-STND" what it is
---@field records msgx.FLOP_STND.Record[] in document order

---what the file of a script for FLOP-STND returns
---@class msgx.FLOP_STND.Script : msgx.Script
---@field kind "FLOP-STND" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_STND.Message): msgx.Decision the rule

---one record of FLOP-TOBT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_TOBT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field TOBT? msgx.datetime|msgx.Clear target off-block time

---FLOP-TOBT: sets TOBT
---@class msgx.FLOP_TOBT.Message : msgx.AnyMessage
---@field kind "FLOP-TOBT" what it is
---@field records msgx.FLOP_TOBT.Record[] in document order

---what the file of a script for FLOP-TOBT returns
---@class msgx.FLOP_TOBT.Script : msgx.Script
---@field kind "FLOP-TOBT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_TOBT.Message): msgx.Decision the rule

---one record of FLOP-TRML; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_TRML.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field TRML? msgx.code|msgx.Clear terminal (at most 5 characters)

---FLOP-TRML: sets TRML
---@class msgx.FLOP_TRML.Message : msgx.AnyMessage
---@field kind "FLOP-TRML" what it is
---@field records msgx.FLOP_TRML.Record[] in document order

---what the file of a script for FLOP-TRML returns
---@class msgx.FLOP_TRML.Script : msgx.Script
---@field kind "FLOP-TRML" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_TRML.Message): msgx.Decision the rule

---one record of FLOP-FDIV; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FDIV.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FDIV? msgx.FDIV|msgx.Clear diversion

---FLOP-FDIV: sets FDIV
---@class msgx.FLOP_FDIV.Message : msgx.AnyMessage
---@field kind "FLOP-FDIV" what it is
---@field records msgx.FLOP_FDIV.Record[] in document order

---what the file of a script for FLOP-FDIV returns
---@class msgx.FLOP_FDIV.Script : msgx.Script
---@field kind "FLOP-FDIV" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FDIV.Message): msgx.Decision the rule

---one record of FLOP-FRET; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FRET.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FRET? msgx.FRET|msgx.Clear return

---FLOP-FRET: sets FRET
---@class msgx.FLOP_FRET.Message : msgx.AnyMessage
---@field kind "FLOP-FRET" what it is
---@field records msgx.FLOP_FRET.Record[] in document order

---what the file of a script for FLOP-FRET returns
---@class msgx.FLOP_FRET.Script : msgx.Script
---@field kind "FLOP-FRET" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FRET.Message): msgx.Decision the rule

---one record of FLOP-FLAB; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_FLAB.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field FLAB? msgx.FLAB|msgx.Clear abnormality

---FLOP-FLAB: sets FLAB
---@class msgx.FLOP_FLAB.Message : msgx.AnyMessage
---@field kind "FLOP-FLAB" what it is
---@field records msgx.FLOP_FLAB.Record[] in document order

---what the file of a script for FLOP-FLAB returns
---@class msgx.FLOP_FLAB.Script : msgx.Script
---@field kind "FLOP-FLAB" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_FLAB.Message): msgx.Decision the rule

---one record of FLOP-GTDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_GTDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field GTDT? msgx.GTDT[]|msgx.Clear gate allocations

---FLOP-GTDT: sets GTDT
---@class msgx.FLOP_GTDT.Message : msgx.AnyMessage
---@field kind "FLOP-GTDT" what it is
---@field records msgx.FLOP_GTDT.Record[] in document order

---what the file of a script for FLOP-GTDT returns
---@class msgx.FLOP_GTDT.Script : msgx.Script
---@field kind "FLOP-GTDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_GTDT.Message): msgx.Decision the rule

---one record of FLOP-CKDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CKDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CKDT? msgx.CKDT[]|msgx.Clear check-in counters

---FLOP-CKDT: sets CKDT
---@class msgx.FLOP_CKDT.Message : msgx.AnyMessage
---@field kind "FLOP-CKDT" what it is
---@field records msgx.FLOP_CKDT.Record[] in document order

---what the file of a script for FLOP-CKDT returns
---@class msgx.FLOP_CKDT.Script : msgx.Script
---@field kind "FLOP-CKDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CKDT.Message): msgx.Decision the rule

---one record of FLOP-CLDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CLDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CLDT? msgx.CLDT[]|msgx.Clear baggage belts

---FLOP-CLDT: sets CLDT
---@class msgx.FLOP_CLDT.Message : msgx.AnyMessage
---@field kind "FLOP-CLDT" what it is
---@field records msgx.FLOP_CLDT.Record[] in document order

---what the file of a script for FLOP-CLDT returns
---@class msgx.FLOP_CLDT.Script : msgx.Script
---@field kind "FLOP-CLDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CLDT.Message): msgx.Decision the rule

---one record of FLOP-PSDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_PSDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PSDT? msgx.PSDT[]|msgx.Clear planned stands

---FLOP-PSDT: sets PSDT
---@class msgx.FLOP_PSDT.Message : msgx.AnyMessage
---@field kind "FLOP-PSDT" what it is
---@field records msgx.FLOP_PSDT.Record[] in document order

---what the file of a script for FLOP-PSDT returns
---@class msgx.FLOP_PSDT.Script : msgx.Script
---@field kind "FLOP-PSDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_PSDT.Message): msgx.Decision the rule

---one record of FLOP-CHDT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CHDT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CHDT? msgx.CHDT[]|msgx.Clear baggage chutes

---FLOP-CHDT: sets CHDT
---@class msgx.FLOP_CHDT.Message : msgx.AnyMessage
---@field kind "FLOP-CHDT" what it is
---@field records msgx.FLOP_CHDT.Record[] in document order

---what the file of a script for FLOP-CHDT returns
---@class msgx.FLOP_CHDT.Script : msgx.Script
---@field kind "FLOP-CHDT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CHDT.Message): msgx.Decision the rule

---one record of FLOP-ABTM; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ABTM.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ABTM? msgx.ABTM[]|msgx.Clear air bridges

---FLOP-ABTM: sets ABTM
---@class msgx.FLOP_ABTM.Message : msgx.AnyMessage
---@field kind "FLOP-ABTM" what it is
---@field records msgx.FLOP_ABTM.Record[] in document order

---what the file of a script for FLOP-ABTM returns
---@class msgx.FLOP_ABTM.Script : msgx.Script
---@field kind "FLOP-ABTM" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ABTM.Message): msgx.Decision the rule

---one record of FLOP-CHOT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_CHOT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field CHOT? msgx.CHOT[]|msgx.Clear chocks

---FLOP-CHOT: sets CHOT
---@class msgx.FLOP_CHOT.Message : msgx.AnyMessage
---@field kind "FLOP-CHOT" what it is
---@field records msgx.FLOP_CHOT.Record[] in document order

---what the file of a script for FLOP-CHOT returns
---@class msgx.FLOP_CHOT.Script : msgx.Script
---@field kind "FLOP-CHOT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_CHOT.Message): msgx.Decision the rule

---one record of FLOP-ERUT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ERUT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ERUT? msgx.ERUT[]|msgx.Clear estimated route

---FLOP-ERUT: sets ERUT
---@class msgx.FLOP_ERUT.Message : msgx.AnyMessage
---@field kind "FLOP-ERUT" what it is
---@field records msgx.FLOP_ERUT.Record[] in document order

---what the file of a script for FLOP-ERUT returns
---@class msgx.FLOP_ERUT.Script : msgx.Script
---@field kind "FLOP-ERUT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ERUT.Message): msgx.Decision the rule

---one record of FLOP-ROUT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_ROUT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field ROUT? msgx.ROUT[]|msgx.Clear planned route

---FLOP-ROUT: sets ROUT
---@class msgx.FLOP_ROUT.Message : msgx.AnyMessage
---@field kind "FLOP-ROUT" what it is
---@field records msgx.FLOP_ROUT.Record[] in document order

---what the file of a script for FLOP-ROUT returns
---@class msgx.FLOP_ROUT.Script : msgx.Script
---@field kind "FLOP-ROUT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_ROUT.Message): msgx.Decision the rule

---one record of FLOP-DELY; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_DELY.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field DELY? msgx.DELY[]|msgx.Clear delays

---FLOP-DELY: sets DELY
---@class msgx.FLOP_DELY.Message : msgx.AnyMessage
---@field kind "FLOP-DELY" what it is
---@field records msgx.FLOP_DELY.Record[] in document order

---what the file of a script for FLOP-DELY returns
---@class msgx.FLOP_DELY.Script : msgx.Script
---@field kind "FLOP-DELY" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_DELY.Message): msgx.Decision the rule

---one record of FLOP-SRVT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_SRVT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field SRVT? msgx.SRVT[]|msgx.Clear services

---FLOP-SRVT: sets SRVT
---@class msgx.FLOP_SRVT.Message : msgx.AnyMessage
---@field kind "FLOP-SRVT" what it is
---@field records msgx.FLOP_SRVT.Record[] in document order

---what the file of a script for FLOP-SRVT returns
---@class msgx.FLOP_SRVT.Script : msgx.Script
---@field kind "FLOP-SRVT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_SRVT.Message): msgx.Decision the rule

---one record of FLOP-VIPF; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_VIPF.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field VIPF? msgx.VIPF[]|msgx.Clear VIPs

---FLOP-VIPF: sets VIPF
---@class msgx.FLOP_VIPF.Message : msgx.AnyMessage
---@field kind "FLOP-VIPF" what it is
---@field records msgx.FLOP_VIPF.Record[] in document order

---what the file of a script for FLOP-VIPF returns
---@class msgx.FLOP_VIPF.Script : msgx.Script
---@field kind "FLOP-VIPF" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_VIPF.Message): msgx.Decision the rule

---one record of FLOP-PORT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_PORT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PORT? msgx.PORT[]|msgx.Clear doors

---FLOP-PORT: sets PORT
---@class msgx.FLOP_PORT.Message : msgx.AnyMessage
---@field kind "FLOP-PORT" what it is
---@field records msgx.FLOP_PORT.Record[] in document order

---what the file of a script for FLOP-PORT returns
---@class msgx.FLOP_PORT.Script : msgx.Script
---@field kind "FLOP-PORT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_PORT.Message): msgx.Decision the rule

---one record of FLOP-TIPT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_TIPT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field TIPT? msgx.TIPT[]|msgx.Clear taxi times

---FLOP-TIPT: sets TIPT
---@class msgx.FLOP_TIPT.Message : msgx.AnyMessage
---@field kind "FLOP-TIPT" what it is
---@field records msgx.FLOP_TIPT.Record[] in document order

---what the file of a script for FLOP-TIPT returns
---@class msgx.FLOP_TIPT.Script : msgx.Script
---@field kind "FLOP-TIPT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_TIPT.Message): msgx.Decision the rule

---one record of FLOP-PSHT; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_PSHT.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PSHT? msgx.PSHT[]|msgx.Clear push-backs

---FLOP-PSHT: sets PSHT
---@class msgx.FLOP_PSHT.Message : msgx.AnyMessage
---@field kind "FLOP-PSHT" what it is
---@field records msgx.FLOP_PSHT.Record[] in document order

---what the file of a script for FLOP-PSHT returns
---@class msgx.FLOP_PSHT.Script : msgx.Script
---@field kind "FLOP-PSHT" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_PSHT.Message): msgx.Decision the rule

---one record of FLOP-EXSS; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_EXSS.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field EXSC? msgx.code|msgx.Clear external status (at most 8 characters)
---@field EXSR? msgx.text|msgx.Clear external status remark (at most 256 characters)

---FLOP-EXSS: sets EXSC, EXSR
---@class msgx.FLOP_EXSS.Message : msgx.AnyMessage
---@field kind "FLOP-EXSS" what it is
---@field records msgx.FLOP_EXSS.Record[] in document order

---what the file of a script for FLOP-EXSS returns
---@class msgx.FLOP_EXSS.Script : msgx.Script
---@field kind "FLOP-EXSS" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_EXSS.Message): msgx.Decision the rule

---one record of FLOP-HNAG; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_HNAG.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field PHAG? msgx.code|msgx.Clear passenger handling agent (at most 12 characters)
---@field FHAG? msgx.code|msgx.Clear ground handling agent (at most 12 characters)
---@field MHAG? msgx.code|msgx.Clear maintenance handling agent (at most 12 characters)

---FLOP-HNAG: sets PHAG, FHAG, MHAG
---@class msgx.FLOP_HNAG.Message : msgx.AnyMessage
---@field kind "FLOP-HNAG" what it is
---@field records msgx.FLOP_HNAG.Record[] in document order

---what the file of a script for FLOP-HNAG returns
---@class msgx.FLOP_HNAG.Script : msgx.Script
---@field kind "FLOP-HNAG" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_HNAG.Message): msgx.Decision the rule

---one record of FLOP-TAOP; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_TAOP.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field TAOP? msgx.code|msgx.Clear turnaround operator (at most 20 characters)
---@field TAFL? msgx.code|msgx.Clear turnaround flight number (at most 20 characters)
---@field TAID? msgx.id|msgx.Clear turnaround FLID

---FLOP-TAOP: sets TAOP, TAFL, TAID
---@class msgx.FLOP_TAOP.Message : msgx.AnyMessage
---@field kind "FLOP-TAOP" what it is
---@field records msgx.FLOP_TAOP.Record[] in document order

---what the file of a script for FLOP-TAOP returns
---@class msgx.FLOP_TAOP.Script : msgx.Script
---@field kind "FLOP-TAOP" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_TAOP.Message): msgx.Decision the rule

---one record of FLOP-VIPP; what was absent is nil, what was empty is CLEAR
---@class msgx.FLOP_VIPP.Record
---@field flid msgx.id the flight
---@field ffid? msgx.text display key
---@field VIPP? msgx.int|msgx.Clear number of VIPs
---@field VIPR? msgx.int|msgx.Clear VIP ranking

---FLOP-VIPP: sets VIPP, VIPR
---@class msgx.FLOP_VIPP.Message : msgx.AnyMessage
---@field kind "FLOP-VIPP" what it is
---@field records msgx.FLOP_VIPP.Record[] in document order

---what the file of a script for FLOP-VIPP returns
---@class msgx.FLOP_VIPP.Script : msgx.Script
---@field kind "FLOP-VIPP" the kind it handles
---@field decide fun(view: msgx.View, msg: msgx.FLOP_VIPP.Message): msgx.Decision the rule
