import { expect, test } from 'bun:test'
import { Glob } from 'bun'
import type { Operation } from './operation.ts'

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'affectsNodes' in value

async function listOperations(): Promise<Operation[]> {
  const paths = [...new Glob('{auth,customer,admin}/**/shapes*.ts').scanSync(import.meta.dir)]
  const modules = paths.filter((path) => !path.includes('.test.')).map((path) => import(`./${path}`))
  return (await Promise.all(modules)).flatMap((each: object) => Object.values(each).filter(isOperation))
}

/** Sold by the shop alone: nodes get devices, not the number that a customer may add. */
const servedByShop = ['increaseVpnDevices']

test('every operation that charges wakes waiting nodes, and no operation that only reads does', async () => {
  const operations = await listOperations()
  const charging = operations.filter((each) => each.charges === true)
  expect(charging.length).toBeGreaterThan(4)
  expect(charging.filter((each) => !each.affectsNodes).map((each) => each.id)).toEqual(servedByShop)
  expect(operations.filter((each) => each.affectsNodes && each.isRead).map((each) => each.id)).toEqual([])
})
