import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterfaceSpeed, readInterfaceMegabits } from './interface-speed.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-interfaces-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** An interface as /sys/class/net has it. Without `speed`, reading it fails, as with EINVAL of a driver. */
function addInterface(name: string, state: string, speed: string | undefined, isPhysical = true): void {
  const path = join(folder, name)
  mkdirSync(join(path, isPhysical ? 'device' : ''), { recursive: true })
  writeFileSync(join(path, 'operstate'), `${state}\n`)
  if (speed === undefined) mkdirSync(join(path, 'speed'))
  else writeFileSync(join(path, 'speed'), `${speed}\n`)
}

test('the speed of a machine is the sum of its 2 physical interfaces that are up, without bonds, tunnels and loopback', () => {
  addInterface('eth0', 'up', '25000')
  addInterface('eth1', 'up', '10000')
  addInterface('eth2', 'down', '100000')
  addInterface('bond0', 'up', '35000', false)
  addInterface('tun0', 'unknown', '10', false)
  addInterface('lo', 'unknown', undefined, false)
  writeFileSync(join(folder, 'bonding_masters'), 'bond0\n')
  expect(readInterfaceMegabits(folder)).toBe(35_000)
})

test('a machine whose drivers answer -1, EINVAL or nonsense, or without /sys, has an unknown speed', () => {
  addInterface('eth0', 'up', '-1')
  addInterface('eth1', 'up', undefined)
  addInterface('eth2', 'up', 'fast')
  expect(readInterfaceMegabits(folder)).toBeUndefined()
  expect(readInterfaceMegabits(join(folder, 'missing'))).toBeUndefined()
})

test('a machine with 1.6 Tbit/s of interfaces reports 800 Gbit/s', () => {
  addInterface('eth0', 'up', '800000')
  addInterface('eth1', 'up', '800000')
  expect(readInterfaceMegabits(folder)).toBe(800_000)
})

test('the speed is read at most once in 60 s', () => {
  const speeds = [1000, 2000]
  let nowMs = 5
  const speed = createInterfaceSpeed(
    () => nowMs,
    () => speeds.shift(),
  )
  const readAfter = (ms: number) => {
    nowMs += ms
    return speed()
  }
  expect([0, 59_999, 1].map(readAfter)).toEqual([1000, 1000, 2000])
})
