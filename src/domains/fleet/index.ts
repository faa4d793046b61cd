export type { NodeSide, Position, Told, ToldTable } from './nodes.ts'
export { createFleet, type Fleet, type NodeWish } from './service.ts'
