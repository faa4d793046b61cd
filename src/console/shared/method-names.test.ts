import { expect, test } from 'bun:test'
import { providerKinds } from '../../adapters/payments/kinds.ts'
import { methodNames } from './method-names.ts'

test('every way to pay of every provider has a name in both languages', () => {
  const methods = providerKinds.flatMap((kind) => kind.methods.map((each) => each.method))
  for (const names of Object.values(methodNames)) expect(Object.keys(names).toSorted()).toEqual([...methods].toSorted())
})
