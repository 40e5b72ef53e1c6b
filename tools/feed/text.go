package feed

// What an airport's messages are full of. All Chinese is within GB2312 but
// for rare, which needs four bytes in GB18030 and is used with that encoding only.

var airlines = []string{"CA", "MU", "CZ", "HU", "3U", "ZH", "FM", "SC", "MF", "KN", "HO", "9C", "CX", "NH", "KE", "SQ"}

var domestic = []string{"PEK", "PKX", "SHA", "PVG", "CAN", "SZX", "CTU", "TFU", "XIY", "KMG", "HGH", "WUH", "NKG", "CKG", "XMN", "URC", "HRB", "SYX"}

var international = []string{"HKG", "NRT", "ICN", "SIN", "BKK", "FRA", "LHR", "KUL", "DXB", "MNL"}

var aircraft = []struct {
	code  string
	seats int
}{{"320", 158}, {"321", 185}, {"738", 167}, {"73M", 176}, {"332", 265}, {"359", 312}, {"773", 342}, {"C919", 164}, {"E90", 98}}

var remarks = []string{
	"机位调整,请注意", "Stand changed at short notice", "旅客行李较多", "Wheelchair x 2", "前站流量控制", "航路天气原因等待",
	"Crew change on ground", "加油车已到位", "上客完毕,等待起飞时刻", "Late inbound <CA1234> & crew", "过站时间紧张", "需要除冰",
}

const rare = "旅客𠮷野先生需要协助"

var delays = []struct{ code, text string }{
	{"WX", "天气原因"}, {"ATC", "流量控制"}, {"CRW", "机组原因"}, {"TEC", "机械故障"}, {"LATE", "前序航班晚到"}, {"SEC", "Security check"}, {"PAX", "等待旅客"},
}

var diversions = []string{"目的地机场雷雨", "Runway closed at destination", "旅客突发疾病", "低能见度"}

var statuses = []string{"BOR", "LBD", "POK", "DEP", "ARR", "DLY", "FPL"}

var agents = []string{"BGS", "SATS", "AMECO", "GAMECO", "PAGSS"}

var services = []string{"CLEAN", "WATER", "FUEL", "CATER", "LAVA", "GPU", "BUS"}

// references are the types that are sent in the morning, with key element and a text element.
var references = []struct{ typ, key, text string }{
	{"AIRL", "ITOP", "NAME"}, {"ARPT", "ITCD", "NAME"}, {"SLST", "SCOD", "DESC"}, {"GLST", "GCOD", "DESC"}, {"BLST", "BCOD", "DESC"},
	{"DLYL", "DCOD", "DESC"}, {"AIRC", "ITAT", "NAME"}, {"STTS", "STTC", "DESC"},
}
