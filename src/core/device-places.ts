/** A machine that has been active within this time counts against the device limit. */
export const placeLastsMs = 60_000
/** A device's machine that was silent for this long has moved to another network, if the device connects from there. */
export const placeMovesAfterMs = 15_000
/** Gateways report machines that are active so often. */
export const placeReportMs = 10_000
