import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseSync } from 'oxc-parser'

const catalogue = resolve(import.meta.dir, '../../src/core/messages/en.ts')

/** A type of parameters that is complete without other declarations. */
const selfContained =
  /^\{(?:\s*[a-z_]+\??:\s*(?:readonly )?(?:string|number|boolean)(?:\[\])?(?: \| null)?[;,]?)*\s*\}$/

type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [name: string]: unknown }

/**
 * The parameters of each reason, as TypeScript: the argument of its English sentence. The description does not have
 * them; the compiler checks them where the shop makes a refusal.
 */
export function readReasonParams(): ReadonlyMap<string, string> {
  const text = readFileSync(catalogue, 'utf8')
  const { program } = parseSync(catalogue, text)
  const params = new Map<string, string>()
  for (const statement of program.body as unknown as Node[]) {
    const declaration = statement['declaration'] as Node | null | undefined
    const [declared] = (declaration?.['declarations'] as Node[] | undefined) ?? []
    if ((declared?.['id'] as Node | undefined)?.['name'] !== 'en') continue
    const sentences = declared?.['init'] as Node | undefined
    for (const property of (sentences?.['properties'] ?? []) as Node[]) {
      const [argument] = ((property['value'] as Node)['params'] as Node[] | undefined) ?? []
      const annotation = (argument?.['typeAnnotation'] as Node | undefined)?.['typeAnnotation'] as Node | undefined
      const name = String((property['key'] as Node)['name'])
      if (annotation) params.set(name, toType(text.slice(annotation.start, annotation.end)))
    }
  }
  return params
}

const toType = (written: string): string => {
  // A line break separates members too.
  const type = written.replaceAll(/([^{;,\s])\s*\n\s*(?!\})/g, '$1; ').replaceAll(/\s+/g, ' ')
  return selfContained.test(type) ? type : 'Record<string, unknown>'
}
