/**
 * Items in a list of one report. It has no import, because the reactors of a gateway use it: with the schemas of the
 * reports each of their threads would load zod, which takes half of its start.
 */
export const maxInReport = 1000
