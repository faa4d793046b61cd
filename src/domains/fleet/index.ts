export type { Forgotten, NodeSide, Position, Told, ToldTable } from './nodes.ts'
export { createFleet, type Fleet, type NewNode } from './service.ts'
export { createFleetVerifier } from './service-audit.ts'
export { createGatewaySide } from './service-gateways.ts'
