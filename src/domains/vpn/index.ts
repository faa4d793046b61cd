export type { Drawing } from './ports.ts'
export { createVpn, type Vpn } from './service.ts'
export { createVpnVerifier } from './service-audit.ts'
export type { Bought, Configuration, VpnArrangement } from './service-subscriptions.ts'
