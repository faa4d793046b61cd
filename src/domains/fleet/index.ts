export { createFleetVerifier } from './audit.ts'
export { createFleet, createForgetting, type Fleet, type NewNode } from './join.ts'
export { createPorts, type Ports } from './lease-ports.ts'
export {
  createGatewaySide,
  type NodeSide,
  numberOf,
  type Position,
  type Told,
  type ToldTable,
} from './nodes.ts'
export { createReach, type PublicHosts } from './reach.ts'
