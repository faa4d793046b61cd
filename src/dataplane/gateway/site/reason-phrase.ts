/** The reason phrase of a status. Node's table is loaded at first use: it takes 8 ms of each reactor's start. */
export const reasonPhrase = (status: number): string => process.getBuiltinModule('node:http').STATUS_CODES[status] ?? ''
