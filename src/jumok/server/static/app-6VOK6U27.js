<<<<<<<< HEAD:src/jumok/server/static/app-6VOK6U27.js
import{O as t,Q as d,S as p,b as e,c as i,e as o,m as n,oc as l,pc as c,ta as s}from"./chunk-7FCZUKFT.js";var g=e.vnode;e.vnode=r=>{let a=r.props;a.lang&&!/^[a-z]{2,3}(-|$)/i.test(a.lang)&&(a.lang=void 0),g?.(r)};d(t.value).then(()=>{n(()=>{document.documentElement.lang=t.value,document.title=`${p(`shell.screen_${s.value}`)} · jumok`}),l(),o(i(c,null),document.getElementById("app"))});
========
import{M as t,O as d,Q as p,Xb as l,Yb as c,b as e,c as i,e as o,m as n,qa as s}from"./chunk-RL2UMDG4.js";var g=e.vnode;e.vnode=r=>{let a=r.props;a.lang&&!/^[a-z]{2,3}(-|$)/i.test(a.lang)&&(a.lang=void 0),g?.(r)};d(t.value).then(()=>{n(()=>{document.documentElement.lang=t.value,document.title=`${p(`shell.screen_${s.value}`)} · jumok`}),l(),o(i(c,null),document.getElementById("app"))});
>>>>>>>> laws:src/jumok/server/static/app-LISFCU6P.js
