/** Protocols by which VPN devices connect to gateways. An operator turns each on or off for each gateway. */
export const gatewayProtocols = ['vless', 'xhttp', 'websocket', 'trojan', 'http', 'naive', 'trusttunnel'] as const
export type GatewayProtocol = (typeof gatewayProtocols)[number]
