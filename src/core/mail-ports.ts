/**
 * Where mail is handed over or handed in. Closed to customers however they leave, because one spammer costs an address
 * its name.
 */
export const mailPorts: readonly number[] = [25, 465, 587, 2525]
