import { useWords } from '../../shared/language.tsx'
import { NoSuchPage } from '../../shared/no-such-page.tsx'
import { Page } from '../../shared/parts.tsx'
import { AccessTab } from './access.tsx'
import { GenerateTab } from './generate.tsx'
import { PoolsTab } from './pools.tsx'
import { SubusersTab } from './subusers.tsx'
import { UsageTab } from './usage.tsx'
import { premiumWords } from './words.ts'

const tabs = { '': PoolsTab, generate: GenerateTab, access: AccessTab, usage: UsageTab, subusers: SubusersTab }
type Tab = keyof typeof tabs

const isTab = (name: string): name is Tab => name in tabs

export function PremiumPage({ tab }: { readonly tab: string }) {
  const words = useWords(premiumWords)
  if (!isTab(tab)) return <NoSuchPage />
  const Shown = tabs[tab]
  return (
    <Page title={words.title} about={words.about}>
      <nav className="tabs" aria-label={words.title}>
        {(Object.keys(tabs) as Tab[]).map((each) => (
          <a
            key={each}
            href={each === '' ? '#/premium' : `#/premium/${each}`}
            aria-current={each === tab ? 'page' : undefined}
          >
            {words.tabs[each === '' ? 'pools' : each]}
          </a>
        ))}
      </nav>
      <Shown />
    </Page>
  )
}
