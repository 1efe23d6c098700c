<<<<<<<< HEAD:src/jumok/server/static/app-R7HDRHC3.js
import{L as t,N as d,P as p,b as e,c as i,e as o,hc as l,ic as c,m as n,na as s}from"./chunk-OPQSWYME.js";var g=e.vnode;e.vnode=r=>{let a=r.props;a.lang&&!/^[a-z]{2,3}(-|$)/i.test(a.lang)&&(a.lang=void 0),g?.(r)};d(t.value).then(()=>{n(()=>{document.documentElement.lang=t.value,document.title=`${p(`shell.screen_${s.value}`)} · jumok`}),l(),o(i(c,null),document.getElementById("app"))});
========
import{N as t,P as d,R as p,Ub as l,Vb as c,b as e,c as i,e as o,m as n,oa as s}from"./chunk-FG4B4RND.js";var g=e.vnode;e.vnode=r=>{let a=r.props;a.lang&&!/^[a-z]{2,3}(-|$)/i.test(a.lang)&&(a.lang=void 0),g?.(r)};d(t.value).then(()=>{n(()=>{document.documentElement.lang=t.value,document.title=`${p(`shell.screen_${s.value}`)} · jumok`}),l(),o(i(c,null),document.getElementById("app"))});
>>>>>>>> steps:src/jumok/server/static/app-TWUKM7AM.js
