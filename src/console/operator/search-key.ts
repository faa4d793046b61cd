import { useEffect } from 'react'
import { go } from '../shared/browser.ts'

/** The field of the search page. */
export const searchInputId = 'search-text'

const isEditable = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** Opens the search when `/` is pressed outside a field and without an open dialog. */
export function useSearchKey(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const hasModifier = event.ctrlKey || event.metaKey || event.altKey
      if (event.key !== '/' || hasModifier || isEditable(event.target)) return
      if (document.querySelector('[role=dialog]')) return
      event.preventDefault()
      const shown = document.getElementById(searchInputId)
      if (shown) shown.focus()
      else void go('/search')
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
