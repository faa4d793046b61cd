/** SMTP ports, closed to customers: one spammer ruins the reputation of an address. */
export const mailPorts: readonly number[] = [25, 465, 587, 2525]
